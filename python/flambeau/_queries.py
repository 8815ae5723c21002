"""Questions about tensors that have a plain Python answer: a bool, an int or a text. Operators make
tensors, so none of these is an entry: those that look at elements call operators.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is the memory block of tensors."""
    return isinstance(obj, flambeau.UntypedStorage | flambeau.TypedStorage)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floats."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the elements can be negative."""
    return input.is_signed()


def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode."""
    return input.is_inference()


def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed at once."""
    return False


def is_neg(input: Tensor) -> bool:
    """False: negatives are computed at once."""
    return False


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once."""
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negatives are computed at once."""
    return input


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero.

    Raises:
        RuntimeError: if there is not exactly one element.
    """
    if input.numel() != 1:
        raise RuntimeError(f"is_nonzero: expected one element, got shape {tuple(input.shape)}")
    return bool(input.item() != 0)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def typename(obj: Any) -> str:
    """The qualified name of an object's type; of a tensor its type(), 'flambeau.FloatTensor'."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = type(obj)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere.

    Args:
        input, other: tensors whose shapes broadcast.
        rtol, atol: relative and absolute tolerance.
        equal_nan: whether NaN equals NaN.
    """
    close = flambeau.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return bool(close.all().item())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape and the same elements."""
    if input.shape != other.shape:
        return False
    return bool((input == other).all().item())
