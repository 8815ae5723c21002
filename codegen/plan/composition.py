"""What an operator does where a backend has no kernel for it, as a kernel of any backend: a
pointwise one its formula over tensors, a structured one its `body` or the kernel of the CPU on
copies. The operator around it records gradients and checks arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Base, Operator
from flambeau.codegen.plan.compute import compute_type
from flambeau.codegen.plan.cpp_types import class_name, cpp_name, kernel_type
from flambeau.codegen.plan.translate import Translator, argument_names

_GIVEN = "_given"  # suffix of arguments before their history is taken off


@dataclass(frozen=True, slots=True)
class Composition:
    """A kernel made of operators, ready to print."""

    backend: str  # what it is registered for
    returns: str
    parameters: str
    lines: tuple[str, ...]


def plan_composition(operator: Operator, translator: Translator) -> Composition | None:
    """None where the operator is primitive."""
    derivation = translator.derivations.of(operator)
    if derivation is not None:
        translator.families |= derivation.families
        return Composition("kAnyBackend", "void", derivation.parameters, derivation.lines)
    if operator.on_host:
        return _on_host(operator)
    if operator.body is None:
        return None
    results = operator.signature.results  # a kernel gives the hidden ones too
    statements, value = translator.evaluated(
        operator.body, argument_names(operator), results, lets_of=operator
    )
    return _composition(operator, "without_history({})", statements, value)


def _on_host(operator: Operator) -> Composition:
    """The operator's own computation, on the CPU."""
    arguments = [
        "Device{Backend::cpu}" if a.type.base is Base.DEVICE else cpp_name(a.name)
        for a in operator.signature.arguments
    ]
    spare = [r for r in operator.signature.results if r.spare]
    arguments = [*(f"{cpp_name(r.name)}.defined()" for r in spare[:1]), *arguments]
    description = f"{class_name(operator.identifier)}Operator"
    value = f"compute<{description}>({', '.join(arguments)})"
    if _is_dynamic(operator):  # else the result is there, and is copied to
        tensor = next(a for a in operator.tensor_arguments if not a.type.is_list)
        value = f"moved({value}, {cpp_name(tensor.name)}{_GIVEN}.device())"
    return _composition(operator, "moved({}, Device{{Backend::cpu}})", (), value)


def _composition(
    operator: Operator, conversion: str, statements: Iterable[str], value: str
) -> Composition:
    """`conversion`: what becomes of tensors before the statements see them."""
    lines = ["const GradMode no_grad(false);"]
    lines += [_converted(a, conversion) for a in operator.signature.arguments if _is_tensor(a)]
    lines += statements
    backend = "kOnHost" if operator.on_host else "kAnyBackend"
    given = [_parameter(a) for a in operator.signature.arguments]
    if _is_dynamic(operator):
        lines.append(f"return {value};")
        return Composition(backend, compute_type(operator), ", ".join(given), tuple(lines))
    results = operator.signature.results
    names = [cpp_name(r.name) for r in results]
    lines.append(f"auto composed = {value};" if names else f"{value};")
    for index, (name, result) in enumerate(zip(names, results, strict=True)):
        part = "composed" if len(names) == 1 else f"std::get<{index}>(composed)"
        wanted = f"if ({name}.defined()) " if result.spare else ""
        lines.append(f'{wanted}hand_over({name}, std::move({part}), "{operator.name}");')
    parameters = [*(f"const Tensor& {name}" for name in names), *given]
    return Composition(backend, "void", ", ".join(parameters), tuple(lines))


def _is_dynamic(operator: Operator) -> bool:
    return operator.shape is not None and operator.shape.dynamic


def _parameter(argument: Argument) -> str:
    suffix = _GIVEN if _is_tensor(argument) else ""
    name = f"{cpp_name(argument.name)}{suffix}"
    return f"{kernel_type(argument.type)} {name}"


def _is_tensor(argument: Argument) -> bool:
    return argument.type.base is Base.TENSOR and not argument.type.or_scalar


def _converted(argument: Argument, conversion: str) -> str:
    name = cpp_name(argument.name)
    kind = "std::vector<Tensor>" if argument.type.is_list else "Tensor"
    return f"[[maybe_unused]] const {kind} {name} = {conversion.format(name + _GIVEN)};"
