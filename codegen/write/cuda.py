"""Kernels for CUDA: one .cu per group of operators, each registering what it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.plan.kernel_text import FoldText, KernelText, fold_text
from flambeau.codegen.write.files import Sink
from flambeau.codegen.write.native import families, kernel_declaration, pointwise_kernels

# Device kernels per compiled unit. The headers cost as much as some twenty of them; a unit of this
# many compiles in well under a minute.
INSTANCES_PER_UNIT = 110


@dataclass(frozen=True, slots=True)
class Unit:
    """What one .cu holds."""

    kernels: tuple[KernelText, ...]
    folds: tuple[FoldText, ...]


def emit_cuda(declarations: Declarations, sink: Sink) -> None:
    """cuda/ of the generated folder."""
    for family, operators in families(declarations).items():
        emit_family(family, operators, declarations, sink)


def emit_family(
    family: str, operators: list[Operator], declarations: Declarations, sink: Sink
) -> None:
    """The files of a family, or the part of them that belongs to some of its operators."""
    kernels = [k for operator in operators for k in pointwise_kernels(operator, declarations)]
    folds = [fold_text(o, declarations) for o in operators if o.kind is Kind.REDUCTION]
    for index, unit in enumerate(units(kernels, folds)):
        sink.render(
            "cuda_kernels.cu.jinja",
            f"cuda/{family}_{index}.cu",
            family=family,
            kernels=unit.kernels,
            folds=unit.folds,
        )
    by_hand = handwritten(operators)
    if by_hand:
        sink.render(
            "handwritten.h.jinja",
            f"kernels/{family}_cuda.h",
            family=family,
            namespace="cuda",
            declarations=[declaration for _, declaration in by_hand],
        )
        sink.render(
            "cuda_register.cpp.jinja",
            f"cuda/{family}_register.cpp",
            family=family,
            names=[name for name, _ in by_hand],
        )


def units(kernels: Iterable[KernelText], folds: Iterable[FoldText]) -> list[Unit]:
    """Kernels in their order, and folds apart from them, cut by the number of device kernels."""
    result: list[Unit] = []
    pointwise: list[KernelText] = []
    size = 0
    for kernel in kernels:
        instances = len(kernel.cases) * len(kernel.formulas)
        if pointwise and size + instances > INSTANCES_PER_UNIT:
            result.append(Unit(tuple(pointwise), ()))
            pointwise, size = [], 0
        pointwise.append(kernel)
        size += instances
    if pointwise:
        result.append(Unit(tuple(pointwise), ()))
    reductions: list[FoldText] = []
    size = 0
    for fold in folds:
        if reductions and size + len(fold.cases) > INSTANCES_PER_UNIT // 2:
            result.append(Unit((), tuple(reductions)))
            reductions, size = [], 0
        reductions.append(fold)
        size += len(fold.cases)
    if reductions:
        result.append(Unit((), tuple(reductions)))
    return result


def handwritten(operators: list[Operator]) -> list[tuple[str, str]]:
    """(name, declaration) of the CUDA kernels written by hand."""
    return [
        (operator.identifier, kernel_declaration(operator))
        for operator in operators
        if operator.kind is Kind.STRUCTURED and "cuda" in operator.kernels
    ]
