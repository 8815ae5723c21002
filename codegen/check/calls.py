"""Which overload a call in a formula means."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.formula.nodes import Call
from flambeau.codegen.model.entries import Argument, Declarations, Operator
from flambeau.codegen.model.operators import is_apart


class Overloads:
    """Operators by every name that a formula may call them by."""

    def __init__(self, declarations: Declarations) -> None:
        self._of: dict[str, list[Operator]] = {}
        for operator in sorted(declarations.operators, key=is_apart):
            for name in dict.fromkeys((*operator.called, operator.identifier)):
                self._of.setdefault(name, []).append(operator)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._of)

    def of(self, name: str) -> Sequence[Operator]:
        """The overloads of a name, in the order of their declaration."""
        return self._of.get(name, ())

    def resolve(self, call: Call) -> Operator | None:
        """The first overload that takes the call's arguments."""
        return next((o for o in self.of(call.function) if misfit(call, o) is None), None)


def misfit(call: Call, operator: Operator) -> str | None:
    """Why an operator does not take the arguments of a call; None where it does."""
    arguments = operator.signature.arguments
    positional = [a for a in arguments if not a.keyword_only]
    if len(call.arguments) > len(positional):
        return f"takes {_count(len(positional))} by position, not {len(call.arguments)}"
    given = [a.name for a in positional[: len(call.arguments)]]
    names = [a.name for a in arguments]
    for name, _ in call.keywords:
        if name not in names:
            return f"has no argument '{name}'"
        if name in given:
            return f"is given '{name}' twice"
        given.append(name)
    missing = [a.name for a in arguments if a.name not in given and not _may_be_left_out(a)]
    return f"needs the argument '{missing[0]}'" if missing else None


def _may_be_left_out(argument: Argument) -> bool:
    return argument.default is not None


def _count(arguments: int) -> str:
    return "1 argument" if arguments == 1 else f"{arguments} arguments"
