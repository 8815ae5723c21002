"""Scaled dot-product attention (A. Vaswani et al., Attention Is All You Need, 2017)."""

from __future__ import annotations

import math

import flambeau
from flambeau import _C, Tensor

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T * scale + mask) value.

    Args:
        query: (..., heads, L, E).
        key: (..., heads, S, E).
        value: (..., heads, S, V).
        attn_mask: broadcasts to (..., L, S): bool (True: attend) or numbers added to the scores.
        dropout_p: probability of dropping an attention weight; apply it in training only.
        is_causal: position i attends to positions <= i; not with attn_mask.
        scale: None: 1 / sqrt(E).
        enable_gqa: heads of key and value may be fewer, each shared by equally many query heads.

    Returns:
        (..., heads, L, V).

    Raises:
        RuntimeError: for masks given twice, and for shapes that do not fit.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: give attn_mask or is_causal, not both")
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(repeats, -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if is_causal:
        visible = flambeau.ones(scores.shape[-2:], dtype=flambeau.bool, device=query.device).tril()
        scores = scores.masked_fill(~visible, -math.inf)
    elif attn_mask is not None and attn_mask.dtype == flambeau.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = _C.softmax(scores, -1)
    if attn_mask is not None and attn_mask.dtype == flambeau.bool:
        # A row that may attend to nothing gives zeros, not NaN.
        weights = weights.masked_fill(~attn_mask.any(-1, True), 0.0)
    if dropout_p > 0:
        weights = _C.nn.functional.dropout(weights, dropout_p, True)
    return weights @ value
