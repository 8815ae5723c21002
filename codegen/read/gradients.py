"""The gradient formulas of pointwise operators that follow from their expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flambeau.codegen.formula.differentiate import gradient
from flambeau.codegen.formula.nodes import (
    Expression,
    Name,
    free_names,
    replace_subtrees,
    substitute,
)
from flambeau.codegen.formula.simplify import add
from flambeau.codegen.model.entries import DtypeRule, Kind, Operator, Signature
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.text.source import DeclarationError


def canonical(formula: Expression, signature: Signature, dtypes: DtypeRule) -> Expression:
    """`grad_NAME` becomes `grad` where only NAME has a gradient."""
    names = gradient_names(signature, dtypes)
    return substitute(formula, {f"grad_{result}": Name(name) for result, name in names.items()})


def with_automatic_formulas(operator: Operator) -> Operator:
    """The operator with a formula for each argument whose derivative is `auto`."""
    derivative = operator.derivative
    if derivative is None or not derivative.auto:
        return operator
    if operator.kind is not Kind.POINTWISE:
        hint = "give a formula per argument"
        message = "only a pointwise operator has an automatic derivative"
        raise DeclarationError.at(operator.span, message, hint)
    if not has_expressions(operator):
        return operator  # which the checks tell
    automatic = {name: automatic_formula(operator, name) for name in sorted(derivative.auto)}
    formulas = {**derivative.formulas, **automatic}
    ordered = {a.name: formulas[a.name] for a in operator.tensor_arguments if a.name in formulas}
    return replace(operator, derivative=replace(derivative, formulas=ordered))


def has_expressions(operator: Operator) -> bool:
    """Every differentiable result has its expression, to differentiate."""
    return gradient_names(operator.signature, operator.dtypes).keys() <= operator.expressions.keys()


def automatic_formula(operator: Operator, argument: str) -> Expression:
    """What follows from the expressions: the sum of what each result contributes.

    Raises:
        DeclarationError: a function in them has no derivative.
    """
    is_complex = any("complex" in d for d in operator.dtypes.kernels)
    total: Expression | None = None
    for result, name in gradient_names(operator.signature, operator.dtypes).items():
        expression = _in_arguments(operator, result)
        part = gradient(expression, argument, grad=name, is_complex=is_complex)
        part = replace_subtrees(part, _recognized(operator, result, expression))
        total = part if total is None else add(total, part)
    if total is None:
        message = f"no result is differentiable with respect to '{argument}'"
        raise DeclarationError.at(operator.span, message)
    return total


def _in_arguments(operator: Operator, result: str) -> Expression:
    """The formula of a result, other differentiable results put in."""
    others = {
        name: operator.expressions[name]
        for name in gradient_names(operator.signature, operator.dtypes)
        if name != result and name in operator.expressions
    }
    return substitute(operator.expressions[result], others)


def _recognized(
    operator: Operator, result: str, expression: Expression
) -> Mapping[Expression, Expression]:
    """A result need not be computed again, unless it was stored with another type."""
    is_stored_as_computed = operator.dtypes.results.get(result, "common") == "common"
    if isinstance(expression, Name) or not free_names(expression) or not is_stored_as_computed:
        return {}
    return {expression: Name(result)}
