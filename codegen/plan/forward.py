"""Forward mode: the tangents of an operator's results."""

from __future__ import annotations

from flambeau.codegen.expression.forward import tangent_name, tangent_terms
from flambeau.codegen.expression.nodes import Call, Expression, Name
from flambeau.codegen.expression.simplify import is_number
from flambeau.codegen.expression.types import TENSOR, TENSORS
from flambeau.codegen.model import Operator
from flambeau.codegen.plan.backward import BackwardPlan
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.translate import Symbol, Translator, argument_names


def forward_lines(
    operator: Operator, backward: BackwardPlan | None, translator: Translator
) -> list[str]:
    """The body of forward_OP, which sets the tangents of the results; empty where there are
    none."""
    results = [r for r in operator.signature.results if not r.hidden]
    if backward is None or not has_forward(operator, backward):
        return []
    if not results:
        return _written(operator, backward, translator)
    is_list = results[0].is_list
    result = cpp_name(results[0].name)
    tracked = [a.name for a in backward.inputs]
    if operator.forward:
        lines = _declared(operator, operator.forward[results[0].name], tracked, translator)
    else:
        terms = tangent_terms(operator, is_complex="complex64" in operator.dtypes.kernels)
        if not terms:
            return []
        lines = _summed(operator, terms, tracked, is_list, translator)
    setter = "set_tangents" if is_list else "set_fitting_tangent"
    return [*lines, f"{setter}({result}, total);"]


def has_forward(operator: Operator, backward: BackwardPlan) -> bool:
    """Whether tangents of results are declared, derived, or known to be zero. Where not, forward
    mode is an error: a tangent that got lost would be a wrong derivative.
    """
    if operator.forward or _is_constant(operator):
        return True
    visible = [r for r in operator.signature.results if not r.hidden]
    return len(visible) == 1 and tangent_terms(operator) is not None


def _is_constant(operator: Operator) -> bool:
    derivative = operator.derivative
    return derivative is not None and all(is_number(f, 0) for f in derivative.formulas.values())


def _written(operator: Operator, backward: BackwardPlan, translator: Translator) -> list[str]:
    """The tangent of the argument that is written in place, from those before the write."""
    (target,) = (a.name for a in operator.tensor_arguments if a.type.mutable)
    zeros = Call("zeros_like", (Name(target),))
    tracked = [a.name for a in backward.inputs]
    lines = _declared(operator, operator.forward.get(target, zeros), tracked, translator)
    return [*lines, f"rebase_tangent({cpp_name(target)}, total);"]


def _names(operator: Operator) -> dict[str, Symbol]:
    names = argument_names(operator)
    for argument in operator.tensor_arguments:
        kind = TENSORS if argument.type.is_list else TENSOR
        names[tangent_name(argument.name)] = Symbol(f"{argument.name}_t", kind)
    for result in operator.signature.results:
        names[result.name] = Symbol(cpp_name(result.name), TENSORS if result.is_list else TENSOR)
    return names


def _summed(
    operator: Operator,
    terms: dict[str, Expression],
    tracked: list[str],
    is_list: bool,
    translator: Translator,
) -> list[str]:
    """One term per argument that has a tangent."""
    kind = "std::vector<Tensor>" if is_list else "Tensor"
    lines = [f"{kind} total;"]
    for name in tracked:
        if name not in terms:
            continue
        argument = operator.argument(name)
        reader = "tangents" if argument.type.is_list else "tangent"
        lines += [
            f"if (has_tangent({cpp_name(name)})) {{",
            f"  [[maybe_unused]] const auto {name}_t = {reader}({cpp_name(name)});",
            "  const ForwardPause pause;",
            f"  {kind} part;",
            *(
                f"  {line}"
                for line in translator.assignments(terms[name], _names(operator), "part", is_list)
            ),
            "  add_tangent(total, std::move(part));",
            "}",
        ]
    return lines


def _declared(
    operator: Operator, formula: Expression, tracked: list[str], translator: Translator
) -> list[str]:
    """A declared formula over all tangents; absent ones are zero."""
    lines = ["Tensor total;"]
    for name in tracked:
        reader = "tangents" if operator.argument(name).type.is_list else "tangent_or_zeros"
        lines.append(f"[[maybe_unused]] const auto {name}_t = {reader}({cpp_name(name)});")
    lines.append("const ForwardPause pause;")
    return lines + translator.assignments(formula, _names(operator), "total", False)
