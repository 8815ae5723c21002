"""Which lets of a body are computed only where they are read: those that some branch does without.

What draws random numbers or writes keeps its place: then no let of the body is moved.
"""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.entries import Base, Operator
from flambeau.codegen.model.operators import OperatorIndex


def later_lets(operator: Operator, index: OperatorIndex) -> frozenset[str]:
    """Of a body's lets those, by the text of their names, that call operators for some branch."""
    if operator.body is None:
        return frozenset()
    certain = _certain(operator.body)
    found = set()
    for names, value in reversed(operator.body_lets):
        if certain & set(let_names(names)):
            certain |= _certain(value)
        elif _called([value], index):
            found.add(names)
    called = _called(_formulas(operator), index) if found else set()
    return frozenset() if _write(called, index) or _draw(called, index) else frozenset(found)


def let_names(names: str) -> tuple[str, ...]:
    """`a, b` of a let, apart."""
    return tuple(name.strip() for name in names.split(","))


def _formulas(operator: Operator) -> list[Expression]:
    body = [] if operator.body is None else [operator.body]
    return [*(value for _, value in operator.body_lets), *body]


def _certain(formula: Expression) -> set[str]:
    """The names that are read whichever branches are taken."""
    match formula:
        case nodes.Name(identifier=name):
            return {name}
        case nodes.Conditional(condition=condition, then=then, otherwise=otherwise):
            return _certain(condition) | (_certain(then) & _certain(otherwise))
        case nodes.Boolean(operands=(first, *_)):
            return _certain(first)
        case nodes.Comprehension(iterable=iterable):
            return _certain(iterable)
    return set[str]().union(*map(_certain, formula.children))


def _called(formulas: Iterable[Expression], index: OperatorIndex) -> set[str]:
    inner = (node for formula in formulas for node in nodes.walk(formula))
    return {n.function for n in inner if isinstance(n, nodes.Call) and n.function in index}


def _write(names: Iterable[str], index: OperatorIndex) -> bool:
    """Whether an operator of these names writes into an argument."""
    found = (o for name in names for o in index.overloads(name))
    return any(a.type.mutable for o in found for a in o.signature.arguments)


def _draw(names: Iterable[str], index: OperatorIndex) -> bool:
    """Whether an operator of these names draws random numbers, itself or through others."""
    seen: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for operator in index.overloads(name):
            if operator.random or any(
                a.type.base is Base.GENERATOR for a in operator.signature.arguments
            ):
                return True
            pending += _called(_formulas(operator), index)
    return False
