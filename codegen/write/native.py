"""Operator functions, kernels and their registration, in C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from zlib import crc32

from flambeau.codegen.formula.functions import headers_of
from flambeau.codegen.model.entries import ANY_BACKEND, Declarations, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.compute import compute_type
from flambeau.codegen.plan.cpp_types import cpp_name, kernel_type
from flambeau.codegen.plan.derivation import Derivations
from flambeau.codegen.plan.kernel_text import (
    FoldText,
    KernelText,
    fold_text,
    kernel_text,
    with_shared_parts,
)
from flambeau.codegen.plan.kernels import forward_kernel
from flambeau.codegen.plan.operator import operator_text
from flambeau.codegen.plan.translate import Translator
from flambeau.codegen.write.files import Sink

# About half the kernels of a compiled unit: few enough that an edit recompiles in seconds.
REACH = 5
Named = TypeVar("Named", KernelText, FoldText)


def families(declarations: Declarations) -> dict[str, list[Operator]]:
    """The operators to emit, by the file that declares them."""
    result: dict[str, list[Operator]] = {}
    for operator in declarations.own:
        result.setdefault(operator.family, []).append(operator)
    return result


def emit_native(declarations: Declarations, sink: Sink) -> None:
    """ops/, kernels/, formulas/ and cpu/ of the generated folder."""
    index = OperatorIndex(declarations.operators)
    derivations = Derivations(declarations, index)
    emit_registers(
        [
            emit_family(family, operators, declarations, index, sink, derivations)
            for family, operators in families(declarations).items()
        ],
        sink,
    )


@dataclass(frozen=True, slots=True)
class Registered:
    """The names of a family's kernels: of units, and of what is written by hand."""

    family: str
    units: tuple[str, ...]
    simd: tuple[str, ...]
    plain: tuple[str, ...]
    shared: tuple[str, ...]


def by_letter(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by their first letters. What is compiled in a moment is compiled with others: most of
    it would be the compiler's start. A new family changes the unit of its letter only.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        found.setdefault(name[0], []).append(name)
    return found


def emit_registers(families: Iterable[Registered], sink: Sink) -> None:
    """What tells the library of kernels as it loads."""
    by_name = {f.family: f for f in families if f.units or f.simd or f.plain or f.shared}
    for letter, names in by_letter(by_name).items():
        found = [by_name[name] for name in names]
        sink.render(
            "cpu_register.cpp.jinja",
            f"cpu/register_{letter}.cpp",
            letter=letter,
            families=names,
            with_shared=[f.family for f in found if f.shared],
            units=[name for f in found for name in f.units],
            simd=[name for f in found for name in f.simd],
            plain=[name for f in found for name in f.plain],
            shared=[name for f in found for name in f.shared],
        )


def emit_family(
    family: str,
    operators: list[Operator],
    declarations: Declarations,
    index: OperatorIndex,
    sink: Sink,
    derivations: Derivations | None = None,
) -> Registered:
    """The files of a family, or the part of them that belongs to some of its operators; the result
    is what is to be registered.
    """
    translator = Translator(declarations, index, derivations)
    texts = [operator_text(operator, declarations, translator) for operator in operators]
    sink.render("operators.h.jinja", f"ops/{family}.h", family=family, operators=texts)
    sink.render(
        "operators.cpp.jinja",
        f"ops/{family}.cpp",
        family=family,
        operators=texts,
        includes=sorted(translator.families - {family}),
        has_later=translator.has_later,
        warns=any(c.only_warns for operator in operators for c in operator.constraints),
    )
    plain, simd = handwritten(operators)
    shared = shared_kernels(operators)
    if shared:
        sink.render(
            "handwritten.h.jinja",
            f"kernels/{family}_any.h",
            family=family,
            namespace="any",
            declarations=[declaration for _, declaration in shared],
        )
    parts = kernel_units(operators, declarations)
    for unit in parts:
        _emit_unit(family, unit, sink)
    sink.render(
        "kernels.h.jinja",
        f"kernels/{family}.h",
        family=family,
        units=[unit.file(family) for unit in parts],
        kernels=[],
        handwritten=[declaration for _, declaration in plain],
        handwritten_simd=[declaration for _, declaration in simd],
    )
    return Registered(
        family,
        units=tuple(unit.first for unit in parts),
        simd=tuple(name for name, _ in simd),
        plain=tuple(name for name, _ in plain),
        shared=tuple(name for name, _ in shared),
    )


@dataclass(frozen=True, slots=True)
class Unit:
    """Kernels that are compiled together, for the CPU and for CUDA."""

    kernels: tuple[KernelText, ...] = ()
    folds: tuple[FoldText, ...] = ()

    @property
    def members(self) -> tuple[KernelText | FoldText, ...]:
        return (*self.kernels, *self.folds)

    @property
    def first(self) -> str:
        return self.members[0].name

    def file(self, family: str) -> str:
        """The stem of its files. A hyphen, as no operator has one: `reduction_any.h` is another."""
        return f"{family}-{self.first}"


def kernel_units(operators: list[Operator], declarations: Declarations) -> list[Unit]:
    """The units of the kernels that formulas give a family; its reductions are apart."""
    kernels = [k for operator in operators for k in pointwise_kernels(operator, declarations)]
    folds = [fold_text(o, declarations) for o in operators if o.kind is Kind.REDUCTION]
    return [
        *(Unit(kernels=tuple(members)) for members in units(kernels)),
        *(Unit(folds=tuple(members)) for members in units(folds)),
    ]


def _emit_unit(family: str, unit: Unit, sink: Sink) -> None:
    """Each unit has headers of its own, so that others are not compiled when it changes."""
    file = unit.file(family)
    sink.render(
        "kernels.h.jinja",
        f"kernels/{file}.h",
        family=family,
        units=[],
        kernels=unit.members,
        handwritten=[],
        handwritten_simd=[],
    )
    emit_formulas(family, unit, sink)
    sink.render("cpu_kernels.simd.cpp.jinja", f"cpu/{file}.simd.cpp", family=family, unit=file)


def emit_formulas(family: str, unit: Unit, sink: Sink) -> None:
    """What the unit for the CPU and the one for CUDA include."""
    file = unit.file(family)
    sink.render(
        "formulas.h.jinja",
        f"formulas/{file}.h",
        family=family,
        unit=file,
        first=unit.first,
        functions=headers_of(frozenset[str]().union(*(m.calls for m in unit.members))),
        kernels=unit.kernels,
        folds=tuple(with_shared_parts(unit.folds)),
        classes=[member.class_name for member in unit.members],
    )


def units(members: Sequence[Named]) -> Iterator[Sequence[Named]]:
    """Members cut into units. One ends with each member whose hash is the least as far as REACH on
    both sides, and is called after its first: a new operator changes the units next to it only.
    """
    hashes = [crc32(member.name.encode()) for member in members]
    start = 0
    for index, own in enumerate(hashes):
        if own == min(hashes[max(0, index - REACH) : index + REACH + 1]):
            yield members[start : index + 1]
            start = index + 1
    if start < len(members):
        yield members[start:]


def pointwise_kernels(operator: Operator, declarations: Declarations) -> list[KernelText]:
    """The forward kernel of a pointwise operator and its backward ones."""
    if operator.kind is not Kind.POINTWISE:
        return []
    backward = plan_backward(operator, declarations)
    kernels = [forward_kernel(operator, declarations)]
    kernels += [fused.kernel for fused in backward.kernels] if backward else []
    return [kernel_text(operator, kernel, declarations) for kernel in kernels]


def handwritten(
    operators: list[Operator],
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(name, declaration) of CPU kernels written by hand: compiled once, and per instruction
    set."""
    plain: list[tuple[str, str]] = []
    simd: list[tuple[str, str]] = []
    for operator in operators:
        kernel = operator.kernels.get("cpu")
        if operator.kind is not Kind.STRUCTURED or kernel is None:
            continue
        entry = (operator.identifier, kernel_declaration(operator))
        (simd if kernel.file.endswith(".simd.cpp") else plain).append(entry)
    return plain, simd


def shared_kernels(operators: list[Operator]) -> list[tuple[str, str]]:
    """(name, declaration) of the kernels written by hand for any backend."""
    shared = (o for o in operators if ANY_BACKEND in o.kernels and not o.on_host)
    return [(o.identifier, kernel_declaration(o)) for o in shared]


def kernel_declaration(operator: Operator) -> str:
    """`void bmm(const Tensor& result, const Tensor& self, const Tensor& mat2);`"""
    arguments = [f"{kernel_type(a.type)} {cpp_name(a.name)}" for a in operator.signature.arguments]
    if operator.shape is not None and operator.shape.dynamic:
        return f"{compute_type(operator)} {operator.identifier}({', '.join(arguments)});"
    results = [f"const Tensor& {cpp_name(r.name)}" for r in operator.signature.results]
    return f"void {operator.identifier}({', '.join(results + arguments)});"
