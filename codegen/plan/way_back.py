"""What the gradient of a composite goes back through, where no formula of it is short."""

from __future__ import annotations

from collections.abc import Callable, Set

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.entries import Base, Kind, Operator
from flambeau.codegen.model.facts import METADATA
from flambeau.codegen.model.operators import OperatorIndex

Choice = Callable[[nodes.Conditional], tuple[Expression, ...]]
_DEEPEST = 6  # composites inside of each other


def way_back(operator: Operator, index: OperatorIndex, choice: Choice) -> tuple[str, ...]:
    """The operators that compute the result of a body from elements, the last one first; composites
    without a page are gone into.

    Args:
        choice: the branches of the operator's own body that are meant.
    """
    found: dict[str, None] = {}
    _follow(operator, index, choice, found, 0)
    return tuple(found)


def reads_elements(expression: Expression, names: Set[str]) -> bool:
    """Whether elements of some tensors are read, rather than their shapes and dtypes."""
    if isinstance(expression, nodes.Attribute) and expression.name in METADATA:
        return False
    if isinstance(expression, nodes.Name):
        return expression.identifier in names
    return any(reads_elements(child, names) for child in expression.children)


def converts(operator: Operator) -> bool:
    """Whether the result holds the same numbers: what differs is their dtype or where they lie."""
    if len(operator.tensor_arguments) != 1 or operator.derivative is None:
        return False
    tensor = operator.tensor_arguments[0]
    if tensor.type.mutable or tensor.name not in operator.linear_in:
        return False
    kept = operator.derivative.formulas.get(tensor.name) == nodes.name("grad")
    others = {a.type.base for a in operator.signature.arguments if a is not tensor}
    places = {Base.DTYPE, Base.DEVICE, Base.BOOL}
    return kept or (
        operator.kind is Kind.STRUCTURED
        and tensor.name in operator.derivative.formulas
        and Base.DTYPE in others
        and others <= places
    )


def both(choice: nodes.Conditional) -> tuple[Expression, ...]:
    """All branches."""
    return choice.then, choice.otherwise


def _follow(
    operator: Operator, index: OperatorIndex, choice: Choice, found: dict[str, None], depth: int
) -> None:
    values = dict(operator.body_lets)
    tensors = {a.name for a in operator.tensor_arguments if not a.type.mutable}
    for name, value in operator.body_lets:
        tensors |= {name} if reads_elements(value, tensors) else set()
    pending = [] if operator.body is None else [operator.body]
    while pending:
        expression = pending.pop(0)
        if not reads_elements(expression, tensors):
            continue
        if isinstance(expression, nodes.Name):
            let = values.pop(expression.identifier, None)
            pending += [] if let is None else [let]
        elif isinstance(expression, nodes.Conditional):
            pending += choice(expression)
        elif isinstance(expression, nodes.Comprehension):
            tensors |= set(expression.names)
            pending += [expression.element, expression.iterable]
        elif not isinstance(expression, nodes.Compare):  # no gradient passes these
            _note(_called(expression, index), index, found, depth)
            pending += expression.children


def _note(name: str | None, index: OperatorIndex, found: dict[str, None], depth: int) -> None:
    """An operator; in place of composites without a page, what they are made of."""
    if name is None:
        return
    meant = index.overloads(name)[0]
    if converts(meant):
        return
    if meant.internal and meant.kind is Kind.COMPOSITE and depth < _DEEPEST:
        _follow(meant, index, both, found, depth + 1)
    elif meant.kind is Kind.COMPOSITE or (meant.derivative and meant.derivative.formulas):
        found.setdefault(meant.name)


def _called(expression: Expression, index: OperatorIndex) -> str | None:
    """The operator of a call, perhaps by its token."""
    match expression:
        case nodes.Call(function=name) if name in index:
            return name
        case nodes.Binary(operator=token):
            return index.named(token)
    return None
