"""Kernels for CUDA: one .cu per unit of kernels, registering what it holds."""

from __future__ import annotations

from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.write.files import Sink
from flambeau.codegen.write.native import families, kernel_declaration, kernel_units


def emit_cuda(declarations: Declarations, sink: Sink) -> None:
    """cuda/ of the generated folder."""
    for family, operators in families(declarations).items():
        emit_family(family, operators, declarations, sink)


def emit_family(
    family: str, operators: list[Operator], declarations: Declarations, sink: Sink
) -> None:
    """The files of a family, or the part of them that belongs to some of its operators."""
    for unit in kernel_units(operators, declarations):
        sink.render(
            "cuda_kernels.cu.jinja",
            f"cuda/{unit.file(family)}.cu",
            family=family,
            unit=unit.file(family),
            first=unit.first,
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


def handwritten(operators: list[Operator]) -> list[tuple[str, str]]:
    """(name, declaration) of the CUDA kernels written by hand."""
    return [
        (operator.identifier, kernel_declaration(operator))
        for operator in operators
        if operator.kind is Kind.STRUCTURED and "cuda" in operator.kernels
    ]
