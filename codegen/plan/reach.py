"""Which operators an operator is made of, and on which backends all of them have kernels."""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.codegen.expression import nodes
from flambeau.codegen.expression.nodes import Expression, walk
from flambeau.codegen.expression.operators import OperatorIndex
from flambeau.codegen.model import Argument, Backend, Declarations, Kind, Operator

Names = tuple[str, ...]


class Reach:
    """Follows the calls of bodies and gradient formulas.

    Which overload a call means is known here by the number and names of its arguments only; where
    several fit, one that runs is enough.
    """

    def __init__(self, declarations: Declarations) -> None:
        self._backends = declarations.backends
        self._index = OperatorIndex(declarations.operators)
        self._missing: dict[tuple[str, str], Names] = {}

    def backends(self, operator: Operator) -> frozenset[str]:
        """The backends on which the operator computes; a composite where all that it calls does."""
        return frozenset(b.name for b in self._backends if not self.lacks(operator, b))

    def lacks(self, operator: Operator, backend: Backend) -> Names:
        """The operators without a kernel there that it needs, among them perhaps itself."""
        return self._lacks(operator, backend, ())

    def gradient_lacks(self, operator: Operator, backend: Backend) -> Names:
        """The same of its gradient formulas, or of those of a composite's parts."""
        found: dict[str, None] = {}
        for part in self.parts(operator):
            for candidates in self._candidates(_gradient_formulas(part)):
                found |= dict.fromkeys(self._cheapest(candidates, backend, ()))
        return tuple(sorted(found))

    def parts(self, operator: Operator) -> tuple[Operator, ...]:
        """The operator itself; of a composite, the operators at the bottom of its body."""
        return tuple(o for o in self._closure([operator]) if o.kind is not Kind.COMPOSITE)

    def in_gradients(self, operator: Operator) -> tuple[Operator, ...]:
        """The operators that its gradient formulas call."""
        found: dict[str, Operator] = {}
        for part in self.parts(operator):
            for candidates in self._candidates(_gradient_formulas(part)):
                found |= {o.full_name: o for o in candidates}
        return tuple(found.values())

    def _closure(self, start: Iterable[Operator]) -> list[Operator]:
        """What composites are made of, they themselves included."""
        pending = list(start)
        found = {o.full_name: o for o in pending}
        while pending:
            part = pending.pop()
            for candidates in self._candidates(_body(part)):
                new = [o for o in candidates if o.full_name not in found]
                found |= {o.full_name: o for o in new}
                pending += new
        return list(found.values())

    def _candidates(self, formulas: Iterable[Expression]) -> list[tuple[Operator, ...]]:
        """For each call, the overloads that it may mean."""
        found: dict[tuple[str, ...], tuple[Operator, ...]] = {}
        for formula in formulas:
            for node in walk(formula):
                operators = self._called(node)
                if operators:
                    found[tuple(o.full_name for o in operators)] = operators
        return list(found.values())

    def _called(self, node: Expression) -> tuple[Operator, ...]:
        match node:
            case nodes.Call(function=name):
                return tuple(o for o in self._index.overloads(name) if _fits(node, o))
            case nodes.Binary(operator=token):
                return self._index.overloads(self._index.named(token) or "")
        return ()

    def _lacks(self, operator: Operator, backend: Backend, above: Names) -> Names:
        key = (operator.full_name, backend.name)
        if key not in self._missing:
            self._missing[key] = tuple(sorted(self._find_lacks(operator, backend, above)))
        return self._missing[key]

    def _find_lacks(self, operator: Operator, backend: Backend, above: Names) -> Iterable[str]:
        if operator.kind is Kind.STRUCTURED and not _has_kernel(operator, backend):
            return [operator.full_name]
        found: dict[str, None] = {}
        for candidates in self._candidates(_body(operator)):
            below = (*above, operator.full_name)
            found |= dict.fromkeys(self._cheapest(candidates, backend, below))
        return found

    def _cheapest(self, candidates: Iterable[Operator], backend: Backend, above: Names) -> Names:
        """What the overload that lacks least lacks; a call of what is above it is no way out."""
        found = [self._lacks(o, backend, above) for o in candidates if o.full_name not in above]
        return min(found, key=len, default=())


def _has_kernel(operator: Operator, backend: Backend) -> bool:
    """Whether a structured operator runs there. Without data, a shape rule is all that it takes."""
    if backend.emit != "none":
        return backend.name in operator.kernels
    return operator.shape is None or not operator.shape.dynamic


def _body(operator: Operator) -> list[Expression]:
    formulas = [value for _, value in operator.body_lets]
    return formulas + ([operator.body] if operator.body is not None else [])


def _gradient_formulas(operator: Operator) -> list[Expression]:
    return list(operator.derivative.formulas.values()) if operator.derivative is not None else []


def _fits(call: nodes.Call, operator: Operator) -> bool:
    """Whether the number and the names of a call's arguments fit."""
    arguments = operator.signature.arguments
    positional = [a.name for a in arguments if not a.keyword_only][: len(call.arguments)]
    given = {*positional, *(name for name, _ in call.keywords)}
    required = {a.name for a in arguments if _is_required(a)}
    fitting = len(given) == len(call.arguments) + len(call.keywords)
    return fitting and required <= given <= {a.name for a in arguments}


def _is_required(argument: Argument) -> bool:
    return argument.default is None and not argument.type.optional
