"""Shapes and order of elements."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.array_api._dtypes import result_type

Axes = int | Sequence[int]


def _promoted(arrays: Sequence[Tensor]) -> list[Tensor]:
    dtype = result_type(*arrays)
    return [array.to(dtype) for array in arrays]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of one shape."""
    return list(flambeau.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """A view of a shape that the array broadcasts to."""
    return flambeau.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays one behind the other; `axis=None`: of one dim each."""
    promoted = _promoted(arrays)
    if axis is None:
        return flambeau.cat([array.flatten() for array in promoted])
    return flambeau.cat(promoted, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays along a new dim."""
    return flambeau.stack(_promoted(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The arrays along a dim."""
    return tuple(flambeau.unbind(x, axis))


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view with a new dim of one element."""
    return flambeau.unsqueeze(x, axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """A view without dims of one element.

    Raises:
        ValueError: one of them has more.
    """
    axes = known_axes(x, axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(
                f"squeeze(): axis {each} of shape {tuple(x.shape)} has {x.shape[each]} elements, "
                "expected 1"
            )
    return flambeau.squeeze(x, axes)


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Elements in reverse order along dims; None: along all."""
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return flambeau.flip(x, tuple(axes))


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """A view with the dims in another order."""
    return flambeau.permute(x, tuple(axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element so many times; `axis=None`: of the flattened array."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(flambeau.int64)
    return flambeau.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape; a view where that can be, unless `copy` is True.

    Raises:
        ValueError: `copy` is False, and there must be a copy.
    """
    shape = tuple(shape)
    if copy is not False:
        return flambeau.reshape(x.clone() if copy else x, shape)
    try:
        return x.view(shape)
    except RuntimeError:
        flambeau.reshape(x, shape)  # says what else is wrong, if something is
        raise ValueError(
            f"reshape(): argument 'copy' is False, but an array of shape {tuple(x.shape)} and "
            f"strides {x.stride()} becomes one of shape {shape} by a copy alone"
        ) from None


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Elements moved on along dims, the last ones to the front; None: of the flattened array."""
    if isinstance(shift, int) and not isinstance(axis, int) and axis is not None:
        shift = [shift] * len(axis)
    return flambeau.roll(x, shift, axis)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The array so many times along each dim."""
    return flambeau.tile(x, tuple(repetitions))


def all_axes(x: Tensor, axis: Axes | None) -> tuple[int, ...]:
    """The dims that an argument names; None: all."""
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def known_axes(x: Tensor, axis: Axes) -> tuple[int, ...]:
    """The same, of dims that the array has.

    Raises:
        IndexError: there is no such dim.
    """
    axes = all_axes(x, axis)
    for each in axes:
        if not -x.ndim <= each < x.ndim:
            raise IndexError(f"argument 'axis' is {each}, which an array of {x.ndim} dims has not")
    return axes
