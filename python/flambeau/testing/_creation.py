"""Random tensors of any dtype, for tests."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: flambeau.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random values from low to high: low may be among them, high is not.

    Args:
        shape: sizes, or one sequence of them.
        dtype: of the result.
        device: where it is.
        low, high: None: -9 and 9; of integers -9 and 10, of unsigned ones 0 and 10, of bool 0 and
            2. What the dtype cannot hold is the nearest value that it can. Of complex numbers, both
            parts are between them.
        requires_grad: whether operations on it are recorded.
        noncontiguous: whether every second place of its memory is left out; of fewer than two
            elements nothing is.
        exclude_zero: whether 0 becomes the least normal positive number, or 1 of integers.
        memory_format: of the result; not with noncontiguous.

    Raises:
        ValueError: low is not below high, or one is NaN; a gradient of a dtype that has none;
            noncontiguous with a memory_format.

    Example:
        >>> x = flambeau.testing.make_tensor(3, 4, dtype=flambeau.int8, device="cpu", low=2)
        >>> x.shape, bool((x >= 2).all() and (x < 10).all())
        (flambeau.Size([3, 4]), True)
    """
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor(): noncontiguous and memory_format cannot both be given")
    differentiable = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not differentiable:
        raise ValueError(f"make_tensor(): a tensor of {dtype} cannot require grad")
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    low, high = _limits(dtype, low, high)
    result = _drawn(sizes, dtype, device, low, high)
    if exclude_zero:
        result[result == 0] = _nearest_to_zero(dtype)
    if noncontiguous and result.numel() > 1:
        result = result.repeat_interleave(2, dim=-1)[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result.requires_grad_(requires_grad)


def _drawn(sizes: Any, dtype: flambeau.dtype, device: Any, low: float, high: float) -> Tensor:
    if dtype.is_complex:
        parts = flambeau.empty((*sizes, 2), dtype=dtype.to_real(), device=device)
        return flambeau.view_as_complex(parts.uniform_(low, high))
    if dtype.is_floating_point:
        return flambeau.empty(sizes, dtype=dtype, device=device).uniform_(low, high)
    return flambeau.randint(int(low), int(high), sizes, device=device).to(dtype)


def _limits(dtype: flambeau.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """What values lie between, as the dtype can hold it; of integers the upper one is left out."""
    for name, limit in (("low", low), ("high", high)):
        if limit is not None and math.isnan(limit):
            raise ValueError(f"make_tensor(): {name} must be a number, got NaN")
    least, most, first, last = _range(dtype)
    lower = min(max(first if low is None else low, least), most)
    upper = min(max(last if high is None else high, least), most)
    is_real = dtype.is_floating_point or dtype.is_complex
    if not is_real:
        lower, upper = math.ceil(lower), math.ceil(upper)
    if lower > upper or (lower == upper and not is_real):
        raise ValueError(f"make_tensor(): low must be below high, got {low} and {high}")
    return lower, upper


def _range(dtype: flambeau.dtype) -> tuple[float, float, float, float]:
    """The least and the largest limit of a dtype, and those that are taken without others."""
    if dtype == flambeau.bool:
        return 0, 2, 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        found = flambeau.finfo(dtype)
        return found.min, found.max, -9, 9
    integers = flambeau.iinfo(dtype)
    # randint draws in int64.
    top = min(integers.max + 1, flambeau.iinfo(flambeau.int64).max)
    return integers.min, top, max(integers.min, -9), 10


def _nearest_to_zero(dtype: flambeau.dtype) -> complex:
    if dtype.is_complex:
        tiny = flambeau.finfo(dtype).tiny
        return complex(tiny, tiny)
    return flambeau.finfo(dtype).tiny if dtype.is_floating_point else 1
