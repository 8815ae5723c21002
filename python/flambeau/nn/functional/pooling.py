"""Pooling that can return the positions of maxima, and adaptive sizes of None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import _C, Tensor
from flambeau._values import elements

__all__ = ["adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d"]
__all__ += ["max_pool1d", "max_pool2d"]

_space = _C.nn.functional
Sizes = int | Sequence[int]


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size, stride, padding, dilation: of the windows; stride None: kernel_size.
        ceil_mode: keep windows that reach over the border.
        return_indices: also the position of each maximum in its plane of H * W elements.
    """
    function = _space.max_pool2d_with_indices if return_indices else _space.max_pool2d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (N, C, L) or (C, L)."""
    if not return_indices:
        return _space.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    given = (kernel_size, kernel_size if stride is None else stride, padding, dilation)
    size, step, border, spread = (v if isinstance(v, int) else v[0] for v in given)
    values, indices = _space.max_pool2d_with_indices(
        input.unsqueeze(-2),
        (1, size),
        (1, step),
        (0, border),
        (1, spread),
        ceil_mode,
    )
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of a grid of output_size windows; None in it keeps a size."""
    sizes = _output_size(input, output_size, 2)
    name = "adaptive_max_pool2d_with_indices" if return_indices else "adaptive_max_pool2d"
    return getattr(_space, name)(input, sizes)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of output_size windows of (N, C, L) or (C, L)."""
    (size,) = _output_size(input, output_size, 1)
    found = _space.adaptive_max_pool2d_with_indices(input.unsqueeze(-2), (1, size))
    values, indices = found[0].squeeze(-2), found[1].squeeze(-2)
    return (values, indices) if return_indices else values


def _output_size(input: Tensor, output_size: Any, count: int) -> list[int]:
    wanted = (
        [output_size] * count
        if (output_size is None or isinstance(output_size, int))
        else elements("output_size", output_size)
    )
    return [input.shape[i - count] if s is None else s for i, s in enumerate(wanted)]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over a grid of output_size windows of (N, C, H, W) or (C, H, W); None in output_size
    keeps a size."""
    return _space.adaptive_avg_pool2d(input, _output_size(input, output_size, 2))
