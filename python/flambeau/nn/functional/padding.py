"""Padding the borders of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau._values import brief, elements

__all__ = ["pad"]


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Adds elements around the last dimensions.

    Args:
        input: any shape; modes other than "constant" pad at most all but the first two dimensions
            (one, for an input without samples).
        pad: (before, after) of the last dimension, then of the one before it, and so on; negative
            numbers cut off.
        mode: "constant", "reflect" (mirrored without the border), "replicate" (the border repeated)
            or "circular" (wrapped around).
        value: of mode "constant"; None: 0.

    Raises:
        RuntimeError: for a `pad` that does not fit the input.
        NotImplementedError: for another mode.
    """
    amounts = [int(p) for p in elements("pad", pad)]
    if len(amounts) % 2 or len(amounts) > 2 * input.dim():
        raise RuntimeError(
            f"pad: expected an even number of at most {2 * input.dim()} amounts for shape "
            f"{tuple(input.shape)}, got {len(amounts)}"
        )
    if mode == "constant":
        return _constant(input, amounts, 0.0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got {brief(mode)}"
        )
    if value is not None and value != 0:
        raise ValueError(f"pad: mode '{mode}' takes no value, got {value}")
    for i in range(len(amounts) // 2):
        dim = input.dim() - 1 - i
        before, after = amounts[2 * i], amounts[2 * i + 1]
        if before or after:
            input = input.index_select(dim, _sources(mode, input.shape[dim], before, after, dim))
    return input


def _constant(input: Tensor, amounts: list[int], value: float) -> Tensor:
    for i in range(len(amounts) // 2):
        dim = input.dim() - 1 - i
        cut_before, cut_after = max(-amounts[2 * i], 0), max(-amounts[2 * i + 1], 0)
        if cut_before or cut_after:
            length = input.shape[dim] - cut_before - cut_after
            if length < 0:
                raise RuntimeError(
                    f"pad: {amounts} leaves {length} elements of dimension {dim} of shape "
                    f"{tuple(input.shape)}"
                )
            input = input.narrow(dim, cut_before, length)
    added = [max(a, 0) for a in amounts]
    if not any(added):
        return input.clone()
    shape, inner = list(input.shape), []
    for i in range(len(added) // 2):
        dim = input.dim() - 1 - i
        shape[dim] += added[2 * i] + added[2 * i + 1]
        inner.append((dim, added[2 * i], input.shape[dim]))
    result = input.new_full(shape, value)
    target = result
    for dim, start, length in inner:
        target = target.narrow(dim, start, length)
    target.copy_(input)
    return result


def _sources(mode: str, size: int, before: int, after: int, dim: int) -> Tensor:
    """Which element each element of the padded dimension comes from."""
    largest = {"reflect": size - 1, "circular": size, "replicate": max(before, after)}[mode]
    if max(before, after) > largest or size == 0:
        raise RuntimeError(
            f"pad: mode '{mode}' cannot add {before} and {after} elements to dimension {dim} of "
            f"size {size}"
        )
    if size + before + after < 0:
        raise RuntimeError(
            f"pad: ({before}, {after}) leaves {size + before + after} elements of dimension {dim} "
            f"of size {size}"
        )
    places = flambeau.arange(-before, size + after)
    last = size - 1
    if mode == "replicate":
        return places.clamp(0, last)
    if mode == "circular":
        return places % size
    return last - (last - places.abs()).abs()
