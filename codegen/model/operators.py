"""Which operator a call in a formula means: overloads, operator tokens, defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Operator
from flambeau.codegen.model.types import (
    TENSOR,
    ValueType,
    conversion_cost,
    results_type,
    value_type,
)


@dataclass(frozen=True, slots=True)
class Given:
    """The type of one argument of a call; `items`: of a list literal's items."""

    type: ValueType
    items: tuple[ValueType, ...] = ()


# Namespaces that say otherwise what names of others mean: `masked.sum`. Formulas mean these last.
_MEANT_LAST = ("masked",)


def is_apart(operator: Operator) -> bool:
    """Whether formulas mean other functions of its name first.

    Of all others the first that is declared is meant: `dropout.train`, of the main namespace, calls
    `dropout` of `nn.functional`, `cross.main` that of `linalg`.
    """
    return operator.namespace in _MEANT_LAST


@dataclass(frozen=True, slots=True)
class Match:
    """An operator, and for each of its arguments the place of the value in the call: a position, a
    keyword, or None for the default.
    """

    operator: Operator
    places: tuple[tuple[Argument, int | str | None], ...]
    cost: int

    @property
    def result(self) -> ValueType:
        """An operator that only writes in place returns what it wrote."""
        signature = self.operator.signature
        if not signature.results and any(a.type.mutable for a in signature.arguments):
            return TENSOR
        return results_type(signature.visible_results)


class OperatorIndex:
    """Operators by name and by token."""

    def __init__(self, operators: Iterable[Operator]) -> None:
        self._by_name: dict[str, list[Operator]] = {}
        self._by_token: dict[str, str] = {}
        aliases: dict[str, list[Operator]] = {}
        for operator in operators:
            if operator.is_for_layouts:
                continue
            self._by_name.setdefault(operator.name, []).append(operator)
            for alias in operator.called[1:]:
                aliases.setdefault(alias, []).append(operator)
            if operator.operator is not None:
                self._by_token.setdefault(operator.operator, operator.name)
        for alias, found in aliases.items():
            self._by_name.setdefault(alias, []).extend(found)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def overloads(self, name: str) -> tuple[Operator, ...]:
        """All operators of that name, in order."""
        return tuple(self._by_name.get(name, ()))

    def named(self, token: str) -> str | None:
        """The name of the operator declared with `operator: token`."""
        return self._by_token.get(token)

    def resolve(
        self, name: str, positional: tuple[Given, ...], keywords: Mapping[str, Given]
    ) -> Match | None:
        """The overload that these arguments fit best; those apart only where no other fits."""
        matches = (match_call(o, positional, keywords) for o in self.overloads(name))
        found = [m for m in matches if m is not None]
        return min(found, key=lambda m: (is_apart(m.operator), m.cost), default=None)


def match_call(
    operator: Operator, positional: tuple[Given, ...], keywords: Mapping[str, Given]
) -> Match | None:
    """How the arguments of a call fit one overload; None where they do not."""
    arguments = operator.signature.arguments
    names = {a.name for a in arguments}
    if len(positional) > sum(not a.keyword_only for a in arguments) or not keywords.keys() <= names:
        return None
    places: list[tuple[Argument, int | str | None]] = []
    total = 0
    for index, argument in enumerate(arguments):
        given: Given | None = None
        place: int | str | None = None
        if index < len(positional):
            if argument.name in keywords:
                return None
            given, place = positional[index], index
        elif argument.name in keywords:
            given, place = keywords[argument.name], argument.name
        elif argument.default is None and not argument.type.optional:
            return None
        if given is not None:
            cost = conversion_cost(given.type, value_type(argument.type), given.items)
            if cost is None:
                return None
            total += cost
        places.append((argument, place))
    return Match(operator, tuple(places), total)
