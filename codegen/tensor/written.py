"""Which values an operator writes into: each is computed for that call alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.operators import OperatorIndex


def written_values(formulas: Iterable[Expression], index: OperatorIndex) -> frozenset[Expression]:
    """The arguments that some call in the formulas writes into."""
    inner = (node for formula in formulas for node in nodes.walk(formula))
    calls = (node for node in inner if isinstance(node, nodes.Call))
    return frozenset(value for call in calls for value in _written(call, index))


def _written(call: nodes.Call, index: OperatorIndex) -> Iterator[Expression]:
    named = dict(call.keywords)
    if call.function not in index and call.function.removesuffix("_") in index:
        yield from call.arguments[:1]  # a form in place
    for operator in index.overloads(call.function):
        for place, argument in enumerate(operator.signature.arguments):
            if not argument.type.mutable:
                continue
            if place < len(call.arguments):
                yield call.arguments[place]
            elif argument.name in named:
                yield named[argument.name]
