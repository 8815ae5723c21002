"""Forward mode: the tangents of an operator's results."""

from __future__ import annotations

from flambeau.codegen.formula.nodes import Call, Name
from flambeau.codegen.formula.simplify import is_number
from flambeau.codegen.model.entries import Kind, Operator, Result
from flambeau.codegen.model.types import TENSOR, TENSORS
from flambeau.codegen.plan.backward import BackwardPlan
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.translate import Symbol, Translator, argument_names
from flambeau.codegen.tensor.forward import tangent_name, tangent_terms


def forward_lines(
    operator: Operator, backward: BackwardPlan | None, translator: Translator
) -> list[str]:
    """The body of set_tangents; empty where there is nothing to set."""
    if backward is None or not has_forward(operator, backward):
        return []
    if not operator.signature.results:
        return _written(operator, backward, translator)
    lines = _refusals(backward)
    if operator.forward:
        lines += _declared_tangents(backward)
    for result in operator.signature.results:
        if result.name not in backward.results:
            continue
        if operator.forward:
            own = _declared(operator, result, translator)
        else:
            own = _summed(operator, result, backward, translator)
        if own and len(backward.results) > 1:
            own = ["{", *(f"  {line}" for line in own), "}"]
        lines += own
    return lines


def _refusals(backward: BackwardPlan) -> list[str]:
    """Errors where an argument has a tangent whose part in the results is not known."""
    names = ", ".join(cpp_name(a.name) for a in backward.refused)
    return [f"forms::refuse_tangents(forms::tracked({names}), name);"] if names else []


def has_forward(operator: Operator, backward: BackwardPlan) -> bool:
    """Whether tangents of results are declared, derived, or known to be zero. Where not, forward
    mode is an error: a tangent that got lost would be a wrong derivative.
    """
    if operator.forward:
        return operator.forward.keys() >= set(backward.results)
    if not backward.gradients:
        return False
    return _is_constant(operator) or all(
        tangent_terms(operator, result) is not None for result in backward.results
    )


def _is_constant(operator: Operator) -> bool:
    derivative = operator.derivative
    return derivative is not None and all(is_number(f, 0) for f in derivative.formulas.values())


def _written(operator: Operator, backward: BackwardPlan, translator: Translator) -> list[str]:
    """The tangent of the argument that is written in place, from those before the write."""
    (target,) = (a.name for a in operator.tensor_arguments if a.type.mutable)
    formula = operator.forward.get(target, Call("zeros_like", (Name(target),)))
    return [
        *_declared_tangents(backward),
        f"Tensor {_sum(operator)};",
        *translator.assignments(formula, _names(operator), _sum(operator), False),
        f"rebase_tangent({cpp_name(target)}, owned(std::move({_sum(operator)})));",
    ]


def _names(operator: Operator) -> dict[str, Symbol]:
    names = argument_names(operator)
    for argument in operator.tensor_arguments:
        kind = TENSORS if argument.type.is_list else TENSOR
        names[tangent_name(argument.name)] = Symbol(f"{argument.name}_t", kind)
    for result in operator.signature.results:
        names[result.name] = Symbol(cpp_name(result.name), TENSORS if result.is_list else TENSOR)
    return names


def _kind(result: Result) -> str:
    return "std::vector<Tensor>" if result.is_list else "Tensor"


def _setting(operator: Operator, result: Result) -> str:
    setter = "set_view_tangent" if operator.kind is Kind.VIEW else "set_fitting_tangent"
    return f"{setter}({cpp_name(result.name)}, std::move({_sum(operator)}));"


def _sum(operator: Operator) -> str:
    """The C++ variable that a tangent becomes: no argument or result that formulas read."""
    taken = {symbol.code for symbol in _names(operator).values()}
    return "total_" if "total" in taken else "total"


def _summed(
    operator: Operator, result: Result, backward: BackwardPlan, translator: Translator
) -> list[str]:
    """The derived tangent of a result: one term per argument that has a tangent."""
    is_complex = "complex64" in operator.dtypes.kernels
    terms = tangent_terms(operator, result.name, is_complex=is_complex)
    if not terms:
        return []
    lines = [f"{_kind(result)} {_sum(operator)};"]
    zero = f"zeros_of({cpp_name(result.name)})" if operator.kind is Kind.POINTWISE else None
    for argument in backward.inputs:
        name = argument.name
        if name not in terms:
            continue
        kind = "const std::vector<Tensor>&" if argument.type.is_list else "const Tensor&"
        term = translator.returned(terms[name], _names(operator), result.is_list, zero)
        opening = f"add_term({_sum(operator)}, {cpp_name(name)}, [&]({kind} {name}_t)"
        opening += f" -> {_kind(result)} {{"
        lines += [opening, *(f"  {line}" for line in term), "});"]
    return [*lines, _setting(operator, result)]


def _declared_tangents(backward: BackwardPlan) -> list[str]:
    """The tangents that declared formulas read; absent ones are zero."""
    lines = []
    for argument in (gradient.argument for gradient in backward.gradients):
        reader = "tangents" if argument.type.is_list else "tangent_or_zeros"
        read = f"{reader}({cpp_name(argument.name)})"
        lines.append(f"[[maybe_unused]] const auto {argument.name}_t = {read};")
    return [*lines, "const ForwardPause pause;"]


def _declared(operator: Operator, result: Result, translator: Translator) -> list[str]:
    """The tangent of a result by its declared formula."""
    formula = operator.forward[result.name]
    return [
        f"{_kind(result)} {_sum(operator)};",
        *translator.assignments(formula, _names(operator), _sum(operator), result.is_list),
        _setting(operator, result),
    ]
