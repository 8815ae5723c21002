"""Sums, extremes and statistics along dims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.array_api._dtypes import isdtype
from flambeau.array_api._manipulation import Axes, all_axes


def _dtype_of_sums(x: Tensor, dtype: Any) -> Any:
    """Small integers are summed as numbers of the default size, with the same sign."""
    if dtype is None and isdtype(x.dtype, "unsigned integer"):
        return flambeau.uint64
    return dtype


def _one_by_one(
    reduce: Callable[[Tensor, int], Tensor], x: Tensor, axis: Axes | None, keepdims: bool
) -> Tensor:
    """A reduction of one dim, of several: the last first, so that the others stay where they are.

    `reduce` keeps the dim.
    """
    axes = sorted({each % (x.ndim or 1) for each in all_axes(x, axis)})
    for each in axes:
        x = reduce(x, each)
    return x if keepdims else flambeau.squeeze(x, tuple(axes))


def sum(
    x: Tensor, /, *, axis: Axes | None = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """Sums along dims; None: of all."""
    kind = _dtype_of_sums(x, dtype)
    if axis == ():
        return x.to(flambeau.sum(x[..., None], -1, dtype=kind).dtype)
    return flambeau.sum(x, axis, keepdims, dtype=kind)


def prod(
    x: Tensor, /, *, axis: Axes | None = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """Products along dims; None: of all."""
    kind = _dtype_of_sums(x, dtype)
    if axis is None and not keepdims:
        return flambeau.prod(x, dtype=kind)
    x = flambeau.prod(x[..., None], -1, dtype=kind)
    kind = x.dtype
    return _one_by_one(
        lambda y, dim: flambeau.prod(y, dim, keepdim=True, dtype=kind), x, axis, keepdims
    )


def max(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """The largest along dims; None: of all."""
    return x.clone() if axis == () else flambeau.amax(x, all_axes(x, axis), keepdims)


def min(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """The smallest along dims; None: of all."""
    return x.clone() if axis == () else flambeau.amin(x, all_axes(x, axis), keepdims)


def mean(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Means along dims; None: of all."""
    return x.clone() if axis == () else flambeau.mean(x, axis, keepdims)


def var(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """Variances along dims; None: of all. Sums are divided by the count less `correction`."""
    if axis == ():
        axis, keepdims, x = -1, False, x[..., None]  # of one element, which may be no number
    return flambeau.var(x, axis, correction=correction, keepdim=keepdims)


def std(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """Standard deviations along dims: roots of `var`."""
    if axis == ():
        axis, keepdims, x = -1, False, x[..., None]
    return flambeau.std(x, axis, correction=correction, keepdim=keepdims)


def all(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along dims are true, or not zero; None: of all."""
    truth = x != 0
    return truth if axis == () else flambeau.all(truth, all_axes(x, axis), keepdims)


def any(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Whether one element along dims is true, or not zero; None: of all."""
    truth = x != 0
    return truth if axis == () else flambeau.any(truth, all_axes(x, axis), keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """How many elements along dims are not zero; None: of all."""
    return sum(x != 0, axis=axis, dtype=flambeau.int64, keepdims=keepdims)


_CUMULATIVE = {flambeau.cumsum: "cumulative_sum", flambeau.cumprod: "cumulative_prod"}


def _cumulative(
    function: Callable[..., Tensor],
    x: Tensor,
    axis: int | None,
    dtype: Any,
    first: int | None,
) -> Tensor:
    """`first`: what the results begin with, if they do."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"{_CUMULATIVE[function]}(): argument 'axis' is needed for an array of {x.ndim} "
                "dims"
            )
        axis = 0
    made = function(x, axis, dtype=_dtype_of_sums(x, dtype))
    if first is None:
        return made
    shape = [*made.shape]
    shape[axis] = 1
    return flambeau.cat([made.new_full(shape, first), made], axis)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Sums of the elements up to each; `include_initial`: a 0 comes first.

    Raises:
        ValueError: there is no axis, and more or less than one dim.
    """
    return _cumulative(flambeau.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Products of the elements up to each; `include_initial`: a 1 comes first.

    Raises:
        ValueError: there is no axis, and more or less than one dim.
    """
    return _cumulative(flambeau.cumprod, x, axis, dtype, 1 if include_initial else None)
