"""Attention of several heads over projections (A. Vaswani et al., Attention Is All You Need, 2017):
the function behind `nn.MultiheadAttention`.
"""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor


def additive_mask(mask: Tensor | None, dtype: flambeau.dtype, name: str) -> Tensor | None:
    """A mask as numbers to add to scores: of bool, True forbids.

    Raises:
        RuntimeError: for a mask that is neither bool nor floating.
    """
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != flambeau.bool:
        raise RuntimeError(f"{name} must be bool or floating, got {mask.dtype}")
    return flambeau.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, -math.inf)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Projects queries, keys and values, lets each head attend, and projects what they found.

    Args:
        query: (L, N, E) or (L, E).
        key, value: (S, N, kdim), (S, N, vdim), or without N.
        embed_dim_to_check: E.
        num_heads: how many heads; divides E.
        in_proj_weight: the three projections, (3 E, E), unless use_separate_proj_weight.
        in_proj_bias: their biases, (3 E).
        bias_k, bias_v: (1, 1, E), appended to keys and values.
        add_zero_attn: append zeros to keys and values.
        dropout_p: probability of dropping an attention weight, in training.
        out_proj_weight, out_proj_bias: the last projection, (E, E) and (E).
        training: whether to drop at all.
        key_padding_mask: (N, S); bool: True ignores the key; or numbers added to scores.
        need_weights: also return the attention weights (slower).
        attn_mask: (L, S) or (N * num_heads, L, S); bool: True forbids; or numbers to add.
        use_separate_proj_weight: project with the next three.
        q_proj_weight, k_proj_weight, v_proj_weight: (E, E), (E, kdim), (E, vdim).
        static_k, static_v: keys and values of the heads, (N * num_heads, S, E / num_heads), used in
            place of projected ones.
        average_attn_weights: return the mean of the weights over heads.
        is_causal: a hint that attn_mask is causal; it needs attn_mask.

    Returns:
        The output, shaped as the query, and the weights, (N, L, S), or (N, num_heads, L, S) when
        not averaged, or None.

    Raises:
        RuntimeError: for shapes or masks that do not fit.

    Example:
        >>> F = flambeau.nn.functional
        >>> x = flambeau.ones(5, 1, 4)  # five steps, one sample, four features
        >>> output, weights = F.multi_head_attention_forward(
        ...     x, x, x, 4, 2, flambeau.ones(12, 4), flambeau.zeros(12), None, None, False, 0.0,
        ...     flambeau.eye(4), None,
        ... )
        >>> output.shape, weights.shape
        (flambeau.Size([5, 1, 4]), flambeau.Size([1, 5, 5]))
    """
    _check(query, key, value, embed_dim_to_check, num_heads, attn_mask, is_causal)
    single = query.dim() == 2
    same = query is key and key is value
    if single:
        shared = value is key
        query_ = query.unsqueeze(1)
        key = query_ if same else key.unsqueeze(1)
        value = query_ if same else (key if shared else value.unsqueeze(1))
        query = query_
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, samples, size = query.shape
    weights = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, weights, in_proj_bias)
    if bias_k is not None and bias_v is not None:
        k = flambeau.cat([k, bias_k.repeat([1, samples, 1])], 0)
        v = flambeau.cat([v, bias_v.repeat([1, samples, 1])], 0)
    split = [num_heads, size // num_heads]

    def apart(t: Tensor) -> Tensor:
        """(N, heads, length, features of a head)."""
        return t.reshape([t.shape[0], samples, *split]).permute([1, 2, 0, 3])

    def static(t: Tensor) -> Tensor:
        return t.reshape([samples, num_heads, *t.shape[1:]])

    q = apart(q)
    k = apart(k) if static_k is None else static(static_k)
    v = apart(v) if static_v is None else static(static_v)
    if add_zero_attn:
        k, v = (flambeau.cat([t, t.new_zeros([*t.shape[:2], 1, t.shape[3]])], 2) for t in (k, v))
    mask = _mask(attn_mask, key_padding_mask, num_heads, q, k)
    mixed, found = _attend(q, k, v, mask, dropout_p if training else 0.0, need_weights)
    joined = mixed.permute([2, 0, 1, 3]).reshape([length, samples, size])
    output = flambeau.nn.functional.linear(joined, out_proj_weight, out_proj_bias)
    if found is not None and average_attn_weights:
        found = found.mean(1)
    if single:
        return output.squeeze(1), None if found is None else found.squeeze(0)
    return output, found


def _check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    size: int,
    heads: int,
    attn_mask: Tensor | None,
    is_causal: bool,
) -> None:
    name = "multi_head_attention_forward"
    if is_causal and attn_mask is None:
        raise RuntimeError(f"{name}: is_causal needs attn_mask")
    shapes = ", ".join(str(tuple(t.shape)) for t in (query, key, value))
    if query.dim() not in (2, 3) or not query.dim() == key.dim() == value.dim():
        raise RuntimeError(
            f"{name}: expected a query, a key and a value of 2 or 3 dims each, got shapes {shapes}"
        )
    if query.shape[-1] != size or heads <= 0 or size % heads:
        raise RuntimeError(
            f"{name}: expected a query of {size} features, a multiple of {heads} heads, got "
            f"shapes {shapes}"
        )
    if key.shape[:-1] != value.shape[:-1]:
        raise RuntimeError(f"{name}: expected a value for each key, got shapes {shapes}")


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    joint: Tensor | None,
    separate: list[Tensor | None] | None,
    bias: Tensor | None,
) -> list[Tensor]:
    """Queries, keys and values of all heads; one product for what is one tensor."""
    linear = flambeau.nn.functional.linear
    size = query.shape[-1]
    if joint is not None and separate is None:
        if query is key and key is value:
            return list(linear(query, joint, bias).chunk(3, -1))
        separate = list(joint.split(size))
    weights = [w for w in separate or () if w is not None]
    if len(weights) != 3:
        raise RuntimeError("multi_head_attention_forward: a projection's weight is missing")
    biases = [None] * 3 if bias is None else list(bias.split(size))
    sources = (query, key, value)
    return [linear(x, w, b) for x, w, b in zip(sources, weights, biases, strict=True)]


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rate: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    functional = flambeau.nn.functional
    if not need_weights:
        return functional.scaled_dot_product_attention(q, k, v, mask, rate), None
    scores = (q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
    weights = functional.softmax(scores if mask is None else scores + mask, -1)
    if rate:
        weights = functional.dropout(weights, rate, True)
    return weights @ v, weights


def _mask(
    attn_mask: Tensor | None, padding: Tensor | None, heads: int, q: Tensor, k: Tensor
) -> Tensor | None:
    """Both masks as numbers that broadcast to (N, heads, L, S)."""
    given = attn_mask if padding is None else padding
    # Keys that are appended are never masked.
    added = 0 if given is None else k.shape[2] - given.shape[-1]
    result = additive_mask(attn_mask, q.dtype, "attn_mask")
    if result is not None and result.dim() == 3:
        result = result.reshape([-1, heads, *result.shape[1:]])
    numbers = additive_mask(padding, q.dtype, "key_padding_mask")
    if numbers is not None:
        numbers = numbers.reshape([numbers.shape[0], 1, 1, -1])
        result = numbers if result is None else result + numbers
    if result is not None and added:
        result = flambeau.nn.functional.pad(result, (0, added))
    return result
