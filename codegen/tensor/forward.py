"""Forward-mode formulas, derived from what is declared for reverse mode.

A gradient formula is linear in `grad`: g -> conj(f') g. The tangent is t -> f' t, which is
conj(formula(conj t)). For real elements both are the same formula. Tangents of several arguments
add up.
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Call, Expression, Name, NoneLiteral
from flambeau.codegen.formula.simplify import (
    ONE,
    ZERO,
    add,
    conditional,
    divide,
    drop_conjugates,
    is_number,
    multiply,
    negate,
    simplify,
    subtract,
)
from flambeau.codegen.model.entries import ZEROS, Kind, Operator, role_name
from flambeau.codegen.model.facts import gradient_names


def tangent_name(argument: str) -> str:
    """How forward formulas call the tangent of an argument."""
    return f"{argument}_t"


def pointwise_tangent(
    gradients: Mapping[str, Expression],
    *,
    grad: str = "grad",
    is_complex: bool = False,
    real_result: bool = False,
) -> dict[str, Expression]:
    """argument -> its part of the result's tangent.

    `real_result`: the result is real for complex arguments.
    """
    terms = {}
    for argument, formula in gradients.items():
        tangent: Expression = Name(tangent_name(argument))
        if not is_complex:
            term = drop_conjugates(nodes.substitute(formula, {grad: tangent}))
        elif formula == Name(grad):
            term = tangent
        else:
            # `real(grad)` of a gradient formula says that the result is real; the tangent is
            # complex.
            inner = _without_real(formula, grad) if real_result else formula
            term = _adjoint(inner, grad, tangent)
            if real_result:
                term = Call("real", (term,))
        term = simplify(term)
        if not is_number(term, 0):
            terms[argument] = term
    return terms


def _without_real(formula: Expression, grad: str) -> Expression:
    wrapped = Call("real", (Name(grad),))
    return nodes.replace_subtrees(formula, {wrapped: Name(grad)})


def _adjoint(formula: Expression, grad: str, tangent: Expression) -> Expression:
    """The transposed map: of g -> a g + b conj(g) it is t -> conj(a) t + b conj(t)."""
    parts = _linear_parts(formula, grad)
    if parts is None or is_number(parts[1], 0):
        return conjugated(nodes.substitute(formula, {grad: Call("conj", (tangent,))}))
    a, b = parts
    return add(multiply(conjugated(a), tangent), multiply(b, Call("conj", (tangent,))))


def _linear_parts(node: Expression, grad: str) -> tuple[Expression, Expression] | None:
    """(a, b) with node = a * grad + b * conj(grad); None where the formula is not seen to be
    linear.
    """
    if not nodes.reads(node, {grad}):
        return None
    match node:
        case Name():
            return ONE, ZERO
        case Call(function="conj", arguments=(inner,)):
            parts = _linear_parts(inner, grad)
            return None if parts is None else (conjugated(parts[1]), conjugated(parts[0]))
        case Call(function="real", arguments=(inner,)):
            parts = _linear_parts(inner, grad)
            if parts is None:
                return None
            a, b = parts
            half = nodes.Number(0.5)
            return multiply(half, add(a, conjugated(b))), multiply(half, add(b, conjugated(a)))
        case nodes.Unary(operator="-", operand=operand):
            parts = _linear_parts(operand, grad)
            return None if parts is None else (negate(parts[0]), negate(parts[1]))
        case nodes.Binary(left=left, operator="*" | "/" as operator, right=right):
            scaled, factor = (left, right) if nodes.reads(left, {grad}) else (right, left)
            parts = _linear_parts(scaled, grad)
            if parts is None or nodes.reads(factor, {grad}) or (operator == "/" and factor is left):
                return None
            build = multiply if operator == "*" else divide
            return build(parts[0], factor), build(parts[1], factor)
        case nodes.Binary(left=left, operator="+" | "-" as operator, right=right):
            first = _linear_parts(left, grad)
            second = _linear_parts(right, grad)
            if first is None or second is None:
                return None
            merge = add if operator == "+" else subtract
            return merge(first[0], second[0]), merge(first[1], second[1])
        case nodes.Conditional(condition=condition, then=then, otherwise=otherwise):
            found = [
                (ZERO, ZERO) if is_number(branch, 0) else _linear_parts(branch, grad)
                for branch in (then, otherwise)
            ]
            if found[0] is None or found[1] is None:
                return None
            return (
                conditional(condition, found[0][0], found[1][0]),
                conditional(condition, found[0][1], found[1][1]),
            )
    return None


def conjugated(node: Expression) -> Expression:
    """conj(node), pushed inwards through arithmetic and cancelled against other conjugates."""
    match node:
        case Call(function="conj", arguments=(inner,)):
            return inner
        case Call(function="real" | "imag" | "abs" | "angle"):
            return node
        case nodes.Number(value=value):
            return nodes.Number(value.conjugate()) if isinstance(value, complex) else node
        case nodes.Unary(operator="-", operand=operand):
            return nodes.Unary("-", conjugated(operand))
        case nodes.Binary(left=left, operator="+" | "-" | "*" | "/" as operator, right=right):
            return nodes.Binary(conjugated(left), operator, conjugated(right))
        case nodes.Conditional(condition=condition, then=then, otherwise=otherwise):
            return nodes.Conditional(condition, conjugated(then), conjugated(otherwise))
    return Call("conj", (node,))


def linear_tangent(operator: Operator) -> dict[str, Expression]:
    """For `linear_in` arguments: the operator applied to the tangent, without the `additive`
    arguments.
    """
    return {
        name: _applied(operator, {name: Name(tangent_name(name))}, frozenset(operator.additive))
        for name in operator.linear_in
    }


def additive_tangent(operator: Operator) -> dict[str, Expression]:
    """For `additive` arguments: the operator applied to the tangent, with one factor of the rest
    made zero.
    """
    factor = operator.linear_in[0]
    return {
        name: _applied(
            operator,
            {name: Name(tangent_name(name)), factor: _zeros(Name(factor))},
            frozenset(operator.additive) - {name},
        )
        for name in operator.additive
    }


def _zeros(value: Expression) -> Expression:
    """Stands for an argument that must be given but must not count."""
    return Call(role_name(ZEROS), (value,))


def _applied(
    operator: Operator, values: Mapping[str, Expression], absent: frozenset[str]
) -> Expression:
    """The operator on its own arguments but for `values`; absent ones are left out, None, or zero
    if they can be neither.
    """
    positional: list[Expression] = []
    keywords: list[tuple[str, Expression]] = []
    skipped = False
    for argument in operator.signature.arguments:
        value = values.get(argument.name, Name(argument.name))
        if argument.name in absent:
            if argument.default is not None:
                skipped = True
                continue
            value = NoneLiteral() if argument.type.optional else _zeros(value)
        if skipped or argument.keyword_only:
            keywords.append((argument.name, value))
        else:
            positional.append(value)
    return Call(operator.name, tuple(positional), tuple(keywords), span=operator.span)


def tangent_terms(
    operator: Operator, result: str, *, is_complex: bool = False
) -> dict[str, Expression] | None:
    """argument -> its part of the tangent of a result; None where that is not derivable."""
    derivative = operator.derivative
    grads = gradient_names(operator.signature, operator.dtypes)
    visible = operator.signature.visible_results
    if result not in grads or not visible:
        return None
    if operator.kind is Kind.POINTWISE and derivative is not None and not derivative.none:
        others: dict[str, Expression] = {g: ZERO for r, g in grads.items() if r != result}
        return pointwise_tangent(
            {
                argument: simplify(nodes.substitute(formula, others)) if others else formula
                for argument, formula in derivative.formulas.items()
            },
            grad=grads[result],
            is_complex=is_complex,
            real_result=operator.dtypes.results.get(result) == "real",
        )
    if operator.linear_in and len(visible) == 1:
        return {**linear_tangent(operator), **additive_tangent(operator)}
    return None
