"""What a structured operator is composed of where a backend has no kernel for it: its `body`, as a
kernel of any backend. The operator around it records gradients and checks arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flambeau.codegen.model import Argument, Base, Operator
from flambeau.codegen.plan.compute import compute_type
from flambeau.codegen.plan.cpp_types import cpp_name, cpp_type
from flambeau.codegen.plan.translate import Translator, argument_names

_GIVEN = "_given"  # suffix of arguments before their history is taken off


@dataclass(frozen=True, slots=True)
class Composition:
    """A kernel made of operators, ready to print."""

    returns: str
    parameters: str
    lines: tuple[str, ...]


def plan_composition(operator: Operator, translator: Translator) -> Composition | None:
    """None where the entry gives no body."""
    if operator.body is None:
        return None
    lines = ["const GradMode no_grad(false);"]
    lines += [_plain(a) for a in operator.tensor_arguments if not a.type.or_scalar]
    results = operator.signature.results
    shown = tuple(replace(r, hidden=False) for r in results)
    statements, value = translator.evaluated(
        operator.body_lets, operator.body, argument_names(operator), shown
    )
    lines += statements
    given = [_parameter(a) for a in operator.signature.arguments]
    if operator.shape is not None and operator.shape.dynamic:
        lines.append(f"return {value};")
        return Composition(compute_type(operator), ", ".join(given), tuple(lines))
    names = [cpp_name(r.name) for r in results]
    lines.append(f"auto composed = {value};" if results else f"{value};")
    for index, name in enumerate(names):
        part = "composed" if len(names) == 1 else f"std::get<{index}>(composed)"
        lines.append(f'hand_over({name}, std::move({part}), "{operator.name}");')
    parameters = [*(f"const Tensor& {name}" for name in names), *given]
    return Composition("void", ", ".join(parameters), tuple(lines))


def _parameter(argument: Argument) -> str:
    suffix = _GIVEN if _is_tensor(argument) else ""
    name = f"{cpp_name(argument.name)}{suffix}"
    return f"[[maybe_unused]] {cpp_type(argument.type).parameter} {name}"


def _is_tensor(argument: Argument) -> bool:
    return argument.type.base is Base.TENSOR and not argument.type.or_scalar


def _plain(argument: Argument) -> str:
    name = cpp_name(argument.name)
    kind = "std::vector<Tensor>" if argument.type.is_list else "Tensor"
    return f"[[maybe_unused]] const {kind} {name} = without_history({name}{_GIVEN});"
