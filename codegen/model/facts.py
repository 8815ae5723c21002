"""What follows from a signature and its dtypes alone, and is asked in many places: what is
differentiable, what gradients are called, what can be read off a tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Base, DtypeRule, Operator, Signature
from flambeau.codegen.model.types import (
    DTYPE,
    INT,
    INTS,
    ValueKind,
    ValueType,
)


def _carries_gradient(dtype: str, rule: DtypeRule) -> bool:
    """Whether a dtype, or a rule for one, may be floating or complex."""
    return dtype not in rule.discrete


def differentiable_arguments(signature: Signature, dtypes: DtypeRule) -> tuple[str, ...]:
    """Tensors that may hold floating or complex numbers and are not written in place."""
    return tuple(
        a.name
        for a in signature.arguments
        if a.type.base is Base.TENSOR
        and not a.type.mutable
        and any(_carries_gradient(d, dtypes) for d in dtypes.accepts[a.name])
    )


WRITTEN = "written"
"""How gradients of an operator without results call its argument as it has written it."""


def written_argument(signature: Signature) -> Argument | None:
    """The one that an operator without results writes into, the first of several."""
    mutable = (a for a in signature.arguments if a.type.mutable)
    return None if signature.results else next(mutable, None)


def differentiable_results(signature: Signature, dtypes: DtypeRule) -> tuple[str, ...]:
    """Results that may be floating or complex; without results, the arguments written in place."""
    if not signature.results:
        return tuple(a.name for a in signature.arguments if a.type.mutable)
    if not any(_carries_gradient(d, dtypes) for d in dtypes.kernels):
        return ()
    return tuple(
        r.name
        for r in signature.visible_results
        if _carries_gradient(r.dtype or dtypes.results.get(r.name, "common"), dtypes)
    )


def gradient_names(signature: Signature, dtypes: DtypeRule) -> dict[str, str]:
    """Result -> how formulas call its gradient: `grad`, or `grad_NAME` where several have one."""
    results = differentiable_results(signature, dtypes)
    return {r: "grad" if len(results) == 1 else f"grad_{r}" for r in results}


def is_factory(operator: Operator) -> bool:
    """Makes tensors that depend on no tensor's elements: takes requires_grad= and the like."""
    names = {a.name for a in operator.signature.arguments}
    derivative = operator.derivative
    return (
        {"dtype", "device"} <= names
        and not operator.internal
        and not any(a.type.mutable for a in operator.tensor_arguments)
        and operator.signature.results != ()
        and (derivative is None or not derivative.formulas)
    )


@dataclass(frozen=True, slots=True)
class Metadata:
    """Something known of a tensor without its elements. `{0}` stands for the tensor in C++.

    `operand`: how it is read off a `Tensor|Scalar`, None where a number has none; `stored`: the C++
    type that keeps it.
    """

    type: ValueType
    stored: str
    tensor: str
    operand: str | None = None


METADATA: dict[str, Metadata] = {
    "shape": Metadata(INTS, "Shape", "{0}.sizes()", "{0}.sizes()"),
    "strides": Metadata(INTS, "Shape", "{0}.strides()"),
    "offset": Metadata(INT, "int64_t", "{0}.offset()"),
    "numel": Metadata(INT, "int64_t", "{0}.numel()", "shape_rules::numel({0}.sizes())"),
    "dim": Metadata(INT, "int64_t", "{0}.dim()", "static_cast<int64_t>({0}.sizes().size())"),
    "dtype": Metadata(DTYPE, "DType", "{0}.dtype()", "dtype_of_operand({0})"),
    "device": Metadata(ValueType(ValueKind.DEVICE), "Device", "{0}.device()"),
}
# The same of a list of tensors.
LIST_METADATA: dict[str, Metadata] = {
    "shapes": Metadata(ValueType(ValueKind.SHAPES), "std::vector<Shape>", "shapes_of({0})"),
    "dtypes": Metadata(ValueType(ValueKind.DTYPES), "std::vector<DType>", "dtypes_of({0})"),
    "count": Metadata(INT, "int64_t", "static_cast<int64_t>({0}.size())"),
}


def shown_name(name: str) -> str:
    """What functions call an argument: methods alone have a `self`."""
    return "input" if name == "self" else name
