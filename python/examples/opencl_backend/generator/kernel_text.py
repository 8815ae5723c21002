"""Declared pointwise kernels and reductions as OpenCL C: what the templates print.

The formulas come from the declarations through the emitter that writes C++ and CUDA too, in
another dialect. A kernel's source is the same for all dtypes and layouts: the host puts definitions
of T (what elements are computed in), R (its real type), N (what numbers are computed in) and of the
operands in front of it, and compiles it once per combination.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.dialect import Dialect, opencl
from flambeau.codegen.formula.to_cpp import ScalarType, emit_scalar
from flambeau.codegen.model.entries import Argument, Base, Declarations, Kind, Operator
from flambeau.codegen.plan import kernel_text as cpp
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.compute import reduction_parameters, reduction_struct
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.kernels import PointwiseKernel, forward_kernel
from flambeau.codegen.text.source import DeclarationError

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
# How parameters are passed: the type inside the kernel, the host's function.
_PARAMETERS = {
    Base.SCALAR: ("N", "number"),
    Base.INT: ("long", "integer"),
    Base.FLOAT: ("double", "real"),
    Base.BOOL: ("int", "flag"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """One formula: the text of a kernel, and the host's condition for choosing it."""

    condition: str | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """A pointwise kernel."""

    name: str
    struct: str
    dtypes: tuple[str, ...]  # enumerators
    sources: tuple[Source, ...]
    arguments: tuple[str, ...]  # calls of the host that pass parameters
    random: bool
    outputs: int


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction."""

    name: str
    struct: str
    dtypes: tuple[str, ...]
    accumulator: str  # T, R or a dtype
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A kernel that OpenCL C cannot express, and why."""

    name: str
    reason: str


def dialect() -> Dialect:
    """OpenCL C with the functions of math.cl."""
    text = (KERNELS / "math.cl").read_text(encoding="utf-8")
    return opencl(frozenset(re.findall(r"\bmath_(\w+)", text)))


def maps_of(operator: Operator, declarations: Declarations) -> list[Map | Missing]:
    """The forward kernel of a pointwise operator and its backward ones."""
    if operator.kind is not Kind.POINTWISE:
        return []
    backward = plan_backward(operator, declarations)
    kernels = [forward_kernel(operator, declarations)]
    kernels += [fused.kernel for fused in backward.kernels] if backward else []
    return [_expressible(operator, kernel, declarations) for kernel in kernels]


def _expressible(
    operator: Operator, kernel: PointwiseKernel, declarations: Declarations
) -> Map | Missing:
    try:
        return _map(operator, kernel, declarations)
    except DeclarationError as error:
        return Missing(kernel.name, error.diagnostics[0].message)


def _map(operator: Operator, kernel: PointwiseKernel, declarations: Declarations) -> Map:
    text = cpp.kernel_text(operator, kernel, declarations)
    written = dialect()
    sources = tuple(
        Source(formula.condition, _kernel_lines(kernel, branch.formulas, written))
        for formula, branch in zip(text.formulas, kernel.branches, strict=True)
    )
    return Map(
        name=kernel.name,
        struct=kernel.parameter_struct,
        dtypes=_real_dtypes(kernel.dtypes, declarations),
        sources=sources,
        arguments=tuple(
            line for a in kernel.parameters if a.type.base is not Base.STR for line in _passed(a)
        ),
        random=kernel.random,
        outputs=len(kernel.outputs),
    )


def _real_dtypes(names: tuple[str, ...], declarations: Declarations) -> tuple[str, ...]:
    """Enumerators of those that OpenCL C computes in: it has no complex numbers."""
    complex_ = {d.name for d in declarations.dtypes if d.category == "complex"}
    return tuple("bool_" if n == "bool" else n for n in names if n not in complex_)


def _passed(argument: Argument) -> list[str]:
    """How the host passes a parameter: an optional one as a flag and a value."""
    field = f"parameters.{cpp_name(argument.name)}"
    function = _PARAMETERS[argument.type.base][1]
    if not argument.type.optional:
        return [f"arguments.{function}({field});"]
    value = f"{field}.value_or(0)"
    return [f"arguments.flag({field}.has_value());", f"arguments.{function}({value});"]


def _kernel_lines(
    kernel: PointwiseKernel, formulas: tuple[nodes.Expression, ...], written: Dialect
) -> tuple[str, ...]:
    symbols = cpp.kernel_symbols(kernel)
    order = kernel.formula_order
    names = [kernel.outputs[i].name for i in order]
    code = emit_scalar([formulas[i] for i in order], symbols, bind_results=names, dialect=written)
    operands = [*kernel.outputs, *kernel.inputs]
    # The kernel's own names end in "_": formulas call their operands as they like.
    parameters = ["const long count_", *(f"OPERAND_{i}" for i in range(len(operands)))]
    if kernel.random:
        parameters += ["const ulong seed_", "const ulong first_"]
    for argument in kernel.parameters:
        if argument.type.base not in _PARAMETERS:
            if argument.type.base is Base.STR:
                continue  # read by conditions only, which the host decides
            raise DeclarationError.at(argument.span, f"no {argument.type} in OpenCL C")
        if argument.type.optional:
            parameters.append(f"const int has_{argument.name}")
        spelled = _PARAMETERS[argument.type.base][0]
        parameters.append(f"const {spelled} {cpp_name(argument.name)}")
    lines = [f"kernel void map_{kernel.name}({', '.join(parameters)} LAYOUT) {{"]
    lines += ["  if ((long)get_global_id(0) >= count_) return;", "  PLACES"]
    for i, operand in enumerate(operands):
        is_read = i >= len(kernel.outputs) or operand.name in kernel.in_out
        if is_read:
            spelled = written.spell(cpp.element_type(operand).value)
            lines.append(f"  const {spelled} {cpp_name(operand.name)} = LOAD_{i};")
    lines += [
        f"  const R {name}_{i} = {name}(R, seed_, first_, get_global_id(0), {i});"
        for i, name in enumerate(code.draws)
    ]
    lines += [f"  {line}" for line in (*code.hoisted, *code.statements)]
    position = {name: i for i, name in enumerate(o.name for o in kernel.outputs)}
    lines += [
        f"  STORE_{position[name]}({value.code});"
        for name, value in zip(names, code.results, strict=True)
    ]
    return (*lines, "}")


def fold_of(operator: Operator, declarations: Declarations) -> Fold | Missing | None:
    """The fold of a reduction."""
    if operator.kind is not Kind.REDUCTION:
        return None
    assert operator.reduce is not None
    if reduction_parameters(operator):
        return Missing(operator.identifier, "its fold reads numbers")
    fold = operator.reduce
    accumulated = cpp.accumulated_type(operator, declarations)
    symbols = cpp.fold_symbols(operator, accumulated)
    parts = (
        ("init", "", fold.init),
        ("step", "A acc, T x", fold.step),
        ("combine", "A a, A b", fold.combine),
        ("finish", "A acc, long n", fold.finish),
    )
    lines: list[str] = []
    try:
        for name, parameters, formula in parts:
            lines += [f"A fold_{name}({parameters}) {{"]
            lines += _fold_lines(formula, symbols)
            lines += ["}"]
    except DeclarationError as error:
        return Missing(operator.identifier, error.diagnostics[0].message)
    spelled = {ScalarType.ELEMENT: "T", ScalarType.REAL: "R", ScalarType.BOOL: "bool"}
    return Fold(
        name=operator.identifier,
        struct=reduction_struct(operator),
        dtypes=_real_dtypes(cpp.fold_dtypes(operator, declarations), declarations),
        accumulator=spelled.get(accumulated, "long"),
        lines=tuple(lines),
    )


def _fold_lines(formula: nodes.Expression, symbols: dict[str, cpp.Symbol]) -> list[str]:
    if formula in (nodes.name("inf"), nodes.Unary("-", nodes.name("inf"))):
        # Of integers, the extreme one.
        return [f"  return {'HIGHEST' if formula == nodes.name('inf') else 'LOWEST'};"]
    code = emit_scalar((formula,), symbols, dialect=dialect())
    value = code.results[0].code
    return [*(f"  {s}" for s in (*code.hoisted, *code.statements)), f"  return (A)({value});"]
