"""Sorting, finding and taking elements, sets of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.array_api._adapted import same_dtype
from flambeau.array_api._manipulation import known_axes


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along a dim."""
    return flambeau.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that put elements in order along a dim."""
    return flambeau.argsort(x, dim=axis, descending=descending, stable=stable)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of elements that are not zero, an array for each dim.

    Raises:
        ValueError: the array has no dims.
    """
    if x.ndim == 0:
        raise ValueError("nonzero(): expected an array of at least one dim, got a scalar")
    return tuple(flambeau.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where elements of `x2` belong in `x1`, which is sorted, or which `sorter` sorts."""
    x1, values = same_dtype(x1, x2)
    order = None if sorter is None else sorter.to(flambeau.int64)
    return flambeau.searchsorted(x1, values, side=side, sorter=order)


def _from_front(indices: Tensor, size: int) -> Tensor:
    """Indices of any integer dtype, those that are negative counted from the end."""
    indices = indices.to(flambeau.int64)
    return flambeau.where(indices < 0, indices + size, indices)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements at indices along a dim.

    Raises:
        ValueError: there is no axis, and more or less than one dim.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take(): argument 'axis' is needed for an array of {x.ndim} dims")
        axis = 0
    (axis,) = known_axes(x, axis)
    return flambeau.index_select(x, axis, _from_front(indices, x.shape[axis]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements at indices of their own for each row along a dim."""
    return flambeau.take_along_dim(x, _from_front(indices, x.shape[axis]), axis)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Whether an element of the first is one of the second."""
    x1, x2 = same_dtype(x1, x2)
    return flambeau.isin(x1, x2, invert=invert)


class UniqueAllResult(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def _distinct(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sorted values, which of them each element is, how often each is there: NaN equals nothing.
    Complex numbers are in the order of their real parts, then of the imaginary ones.
    """
    if x.dtype.is_complex:
        pairs = flambeau.view_as_real(x.reshape(-1))
        found = flambeau.unique(pairs, return_inverse=True, return_counts=True, dim=0)
        return flambeau.view_as_complex(found[0]), found[1].reshape(x.shape), found[2]
    values, inverse, counts = flambeau.unique(x, return_inverse=True, return_counts=True)
    return values, inverse.reshape(x.shape), counts


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Distinct elements, where each is first, which of them each element is, how often they are."""
    values, inverse, counts = _distinct(x)
    places = flambeau.arange(x.numel(), device=x.device)
    first = flambeau.zeros_like(values, dtype=flambeau.int64)
    first = first.scatter_reduce(0, inverse.flatten(), places, "amin", include_self=False)
    return UniqueAllResult(values, first, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Distinct elements, and how often each is there."""
    values, _, counts = _distinct(x)
    return UniqueCountsResult(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Distinct elements, and which of them each element is."""
    values, inverse, _ = _distinct(x)
    return UniqueInverseResult(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """Distinct elements."""
    return _distinct(x)[0] if x.dtype.is_complex else flambeau.unique(x)
