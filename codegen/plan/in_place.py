"""The formula that writes in place what another one gives: it calls in place what that calls."""

from __future__ import annotations

from flambeau.codegen.formula.nodes import Binary, Call, Conditional, Expression, Name
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.way_back import reads_elements


def in_place(value: Expression, first: str, index: OperatorIndex) -> Expression | None:
    """`relu_(self)` for `relu(self)`, where `first` is `self`; in both branches of a condition.

    None where there is no such formula: where the value is no operator's of `first`, where that has
    no form in place, or where another of its arguments reads elements that it overwrites.
    """
    match value:
        case Name(identifier=name) if name == first:
            return value
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            branches = in_place(then, first, index), in_place(otherwise, first, index)
            if branches[0] is None or branches[1] is None:
                return None
            return Conditional(condition, branches[0], branches[1], span=value.span)
        case Binary(left=left, operator=token, right=right):
            function = index.named(token)
            if function is None:
                return None
            return in_place(Call(function, (left, right), span=value.span), first, index)
        case Call(arguments=(Name(identifier=name), *rest)) if name == first:
            others = [*rest, *(given for _, given in value.keywords)]
            if any(reads_elements(other, {first}) for other in others):
                return None
            if not _has_form(value.function, index):
                return None
            return Call(f"{value.function}_", value.arguments, value.keywords, span=value.span)
    return None


def _has_form(function: str, index: OperatorIndex) -> bool:
    """Whether all operators of that name that take a tensor first have a form in place."""
    found = [o for o in index.overloads(function) if _takes_tensor_first(o)]
    return bool(found) and all("inplace" in o.variants for o in found)


def _takes_tensor_first(operator: Operator) -> bool:
    first = next(iter(operator.signature.arguments), None)
    return first is not None and first.type.is_tensor
