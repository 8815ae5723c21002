"""Rearranging channels and pixels."""

from __future__ import annotations

from flambeau import Tensor

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r) (W. Shi et al., 2016)."""
    r = upscale_factor
    if r <= 0 or input.dim() < 3 or input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle: channels of shape {tuple(input.shape)} must divide by {r} * {r}"
        )
    *batch, channels, height, width = input.shape
    parts = input.reshape([*batch, channels // (r * r), r, r, height, width])
    n = len(batch)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return parts.permute(order).reshape([*batch, channels // (r * r), height * r, width * r])


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W): the inverse of pixel_shuffle."""
    r = downscale_factor
    if r <= 0 or input.dim() < 3 or input.shape[-1] % r or input.shape[-2] % r:
        raise RuntimeError(f"pixel_unshuffle: {tuple(input.shape)} does not divide by {r}")
    *batch, channels, height, width = input.shape
    parts = input.reshape([*batch, channels, height // r, r, width // r, r])
    n = len(batch)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return parts.permute(order).reshape([*batch, channels * r * r, height // r, width // r])


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleaves the groups of channels of (N, C, ...) (X. Zhang et al., ShuffleNet, 2017)."""
    if input.dim() < 2:
        raise RuntimeError(f"channel_shuffle: expected (N, C, ...), got {tuple(input.shape)}")
    samples, channels, *rest = input.shape
    if groups <= 0 or channels % groups:
        raise RuntimeError(f"channel_shuffle: {channels} channels do not divide by {groups}")
    parts = input.reshape([samples, groups, channels // groups, *rest])
    return parts.transpose(1, 2).reshape(input.shape)
