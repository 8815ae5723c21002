"""Which operators an operator is made of, and on which backends all of them have kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression, walk
from flambeau.codegen.model.entries import (
    ANY_BACKEND,
    Argument,
    Backend,
    Declarations,
    Kind,
    Operator,
)
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.model.operators import OperatorIndex

Names = tuple[str, ...]
Calls = list[tuple[Operator, ...]]  # for each call, the overloads that it may mean


class Reach:
    """Follows the calls of bodies and gradient formulas.

    Which overload a call means is known here by the number and names of its arguments only; where
    several fit, one that runs is enough.
    """

    def __init__(self, declarations: Declarations) -> None:
        self._backends = declarations.backends
        self._index = OperatorIndex(declarations.operators)
        self._missing: dict[tuple[str, str], Names] = {}
        # By the full name of the operator that calls.
        self._in_bodies: dict[str, Calls] = {}
        self._in_gradients: dict[str, Calls] = {}

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
            for candidates in self._gradient_calls(part):
                found |= dict.fromkeys(self._cheapest(candidates, backend, ()))
        return tuple(sorted(found))

    def parts(self, operator: Operator) -> tuple[Operator, ...]:
        """The operator itself; of a composite, the operators at the bottom of its body."""
        return tuple(o for o in self.closure([operator]) if o.kind is not Kind.COMPOSITE)

    def closure(
        self,
        operators: Iterable[Operator],
        gradients: bool = False,
        composed: Callable[[Operator], bool] = lambda o: o.kind is Kind.COMPOSITE,
        derived: Callable[[Operator], Iterable[Operator]] = lambda o: (),
    ) -> tuple[Operator, ...]:
        """Some operators and all that the bodies of those that are composed call, and perhaps their
        gradient formulas. `derived`: what else such an operator calls.
        """
        pending = list(operators)
        found = {o.full_name: o for o in pending}
        while pending:
            part = pending.pop()
            calls = self._body_calls(part) if composed(part) else []
            calls += [(o,) for o in derived(part)] if composed(part) else []
            calls += self._gradient_calls(part) if gradients else []
            for candidates in calls:
                new = [o for o in candidates if o.full_name not in found]
                found |= {o.full_name: o for o in new}
                pending += new
        return tuple(found.values())

    def in_gradients(self, operator: Operator) -> tuple[Operator, ...]:
        """The operators that its gradient formulas call."""
        found: dict[str, Operator] = {}
        for part in self.parts(operator):
            for candidates in self._gradient_calls(part):
                found |= {o.full_name: o for o in candidates}
        return tuple(found.values())

    def called(self, operator: Operator) -> tuple[Operator, ...]:
        """The operators that the body calls, of a call that may mean several all of them."""
        return tuple(o for candidates in self._body_calls(operator) for o in candidates)

    def _body_calls(self, operator: Operator) -> Calls:
        """The calls in a body."""
        name = operator.full_name
        if name not in self._in_bodies:
            self._in_bodies[name] = self._find_in_body(operator)
        return self._in_bodies[name]

    def _find_in_body(self, operator: Operator) -> Calls:
        tensors = {a.name for a in operator.tensor_arguments}
        found = []
        for name, value in operator.body_lets:
            found += self._calls(value, tensors)
            if self._is_tensor(value, tensors):
                tensors.add(name)
        return found + (self._calls(operator.body, tensors) if operator.body is not None else [])

    def _gradient_calls(self, operator: Operator) -> Calls:
        """Those in gradient formulas."""
        name = operator.full_name
        if name not in self._in_gradients:
            self._in_gradients[name] = self._find_in_gradients(operator)
        return self._in_gradients[name]

    def _find_in_gradients(self, operator: Operator) -> Calls:
        if operator.derivative is None:
            return []
        tensors = {a.name for a in operator.tensor_arguments}
        tensors |= {r.name for r in operator.signature.results}
        tensors |= set(gradient_names(operator.signature, operator.dtypes).values())
        formulas = operator.derivative.formulas.values()
        return [called for formula in formulas for called in self._calls(formula, tensors)]

    def _calls(self, formula: Expression, tensors: set[str]) -> Calls:
        found = (self._called(node, tensors) for node in walk(formula))
        return [operators for operators in found if operators]

    def _called(self, node: Expression, tensors: set[str]) -> tuple[Operator, ...]:
        match node:
            case nodes.Call(function=name):
                return tuple(o for o in self._index.overloads(name) if _fits(node, o))
            case nodes.Binary(operator=token) if self._is_tensor(node, tensors):
                return self._index.overloads(self._index.named(token) or "")
        return ()

    def _is_tensor(self, node: Expression, tensors: set[str]) -> bool:
        """Whether a formula gives a tensor, not a number or a shape."""
        match node:
            case nodes.Name(identifier=name):
                return name in tensors
            case nodes.Call(function=name):
                return name in self._index
            case nodes.Binary(left=left, right=right):
                return self._is_tensor(left, tensors) or self._is_tensor(right, tensors)
            case nodes.Unary(operand=operand):
                return self._is_tensor(operand, tensors)
            case nodes.Conditional(then=then, otherwise=otherwise):
                return self._is_tensor(then, tensors) or self._is_tensor(otherwise, tensors)
            case nodes.Index(value=value):
                return self._is_tensor(value, tensors)
        return False

    def _lacks(self, operator: Operator, backend: Backend, above: Names) -> Names:
        key = (operator.full_name, backend.name)
        if key not in self._missing:
            self._missing[key] = tuple(sorted(self._find_lacks(operator, backend, above)))
        return self._missing[key]

    def _find_lacks(self, operator: Operator, backend: Backend, above: Names) -> Iterable[str]:
        if operator.kind is Kind.STRUCTURED:
            if has_kernel(operator, backend):
                return []
            if operator.body is None or backend.emit == "none":
                return [operator.full_name]
        if backend.emit == "none" and _reads_data(operator):
            return [operator.full_name]
        found: dict[str, None] = {}
        for candidates in self._body_calls(operator):
            below = (*above, operator.full_name)
            found |= dict.fromkeys(self._cheapest(candidates, backend, below))
        return found

    def _cheapest(self, candidates: Iterable[Operator], backend: Backend, above: Names) -> Names:
        """What the overload that lacks least lacks; a call of what is above it is no way out."""
        found = [self._lacks(o, backend, above) for o in candidates if o.full_name not in above]
        return min(found, key=len, default=())


def has_kernel(operator: Operator, backend: Backend) -> bool:
    """Whether a structured operator has a kernel there. Without data, a shape rule is all that it
    takes."""
    if backend.emit != "none":
        return bool({backend.name, ANY_BACKEND} & operator.kernels.keys())
    return operator.shape is None or not operator.shape.dynamic


def _reads_data(operator: Operator) -> bool:
    """Whether a body turns an element into a number, which takes more than a shape."""
    formulas = [value for _, value in operator.body_lets]
    formulas += [] if operator.body is None else [operator.body]
    calls = (node for f in formulas for node in walk(f) if isinstance(node, nodes.Call))
    return any(call.function == "item" for call in calls)


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
