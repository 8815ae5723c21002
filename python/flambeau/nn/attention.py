"""Multi-head attention (A. Vaswani et al., Attention Is All You Need, 2017)."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.linear import Linear
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter

_f: Any = F


def additive_mask(mask: Tensor | None, dtype: Any, name: str) -> Tensor | None:
    """A mask as numbers to add to scores: of bool, True forbids.

    Raises:
        RuntimeError: for a mask that is neither bool nor floating.
    """
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != flambeau.bool:
        raise RuntimeError(f"{name} must be bool or floating, got {mask.dtype}")
    return flambeau.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, -math.inf)


class MultiheadAttention(Module):
    """Attention of several heads over learned projections.

    Args:
        embed_dim: features of the query and of the result; num_heads divides it.
        num_heads: how many heads.
        dropout: probability of dropping an attention weight, in training.
        bias: whether projections have biases.
        add_bias_kv: append a learned vector to keys and values.
        add_zero_attn: append zeros to keys and values.
        kdim, vdim: features of keys and values; None: embed_dim.
        batch_first: tensors are (N, L, E) instead of (L, N, E).

    Shapes: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), or without N; output as
    the query; weights (N, L, S), or (N, num_heads, L, S) when not averaged.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim {brief(embed_dim)} must be a multiple of "
                f"num_heads {brief(num_heads)}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        where = {"device": device, "dtype": dtype}

        def weight(*shape: int) -> Parameter:
            return Parameter(flambeau.empty(shape, **where))

        self._same_sizes = self.kdim == embed_dim and self.vdim == embed_dim
        separate = not self._same_sizes
        self.register_parameter(
            "in_proj_weight", None if separate else weight(3 * embed_dim, embed_dim)
        )
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            own = weight(embed_dim, size) if separate else None
            self.register_parameter(f"{name}_proj_weight", own)
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, **where)
        self.register_parameter("bias_k", weight(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", weight(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if self._parameters[name] is not None:
                init.xavier_uniform_(self._parameters[name])
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        size = self.embed_dim
        bias = self.in_proj_bias
        if self._same_sizes and query is key and key is value:
            return list(_f.linear(query, self.in_proj_weight, bias).chunk(3, -1))
        biases = [None] * 3 if bias is None else list(bias.split(size))
        if self._same_sizes:
            weights = list(self.in_proj_weight.split(size))
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        sources = (query, key, value)
        return [_f.linear(x, w, b) for x, w, b in zip(sources, weights, biases, strict=True)]

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output, weights or None).

        Args:
            key_padding_mask: (N, S); bool: True ignores the key; or numbers added to scores.
            need_weights: also return the attention weights (slower).
            attn_mask: (L, S) or (N * num_heads, L, S); bool: True forbids; or numbers to add.
            average_attn_weights: return their mean over heads.
            is_causal: a hint that attn_mask is causal; it needs attn_mask.
        """
        if is_causal and attn_mask is None:
            raise RuntimeError("MultiheadAttention: is_causal needs attn_mask")
        single = query.dim() == 2
        if query.dim() not in (2, 3):
            raise RuntimeError(
                f"MultiheadAttention: expected a query of 2 or 3 dims, got {tuple(query.shape)}"
            )
        same = query is key and key is value
        if single or self.batch_first:
            # To (L, N, E); one tensor stays one, so that one product projects it.
            def turn(t: Tensor) -> Tensor:
                return t.unsqueeze(1) if single else t.transpose(0, 1)

            query_, key_, value_ = query, key, value
            query = turn(query_)
            key = query if same else turn(key_)
            value = query if same else (key if value_ is key_ else turn(value_))
        length, samples, _ = query.shape
        q, k, v = self._projected(query, key, value)
        if self.bias_k is not None:
            k = flambeau.cat([k, self.bias_k.repeat([1, samples, 1])], 0)
            v = flambeau.cat([v, self.bias_v.repeat([1, samples, 1])], 0)
        if self.add_zero_attn:
            zeros = k.new_zeros([1, samples, self.embed_dim])
            k, v = flambeau.cat([k, zeros], 0), flambeau.cat([v, zeros], 0)
        # (N, heads, length, head_dim)
        split = [self.num_heads, self.head_dim]
        q, k, v = (
            t.reshape([t.shape[0], samples, *split]).permute([1, 2, 0, 3]) for t in (q, k, v)
        )
        if single and key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        mask = self._mask(attn_mask, key_padding_mask, q, k)
        rate = self.dropout if self.training else 0.0
        weights: Tensor | None = None
        if need_weights:
            scores = (q * (1 / math.sqrt(self.head_dim))) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            dropped = F.dropout(weights, rate, self.training) if rate else weights
            mixed = dropped @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, mask, rate)
        joined = mixed.permute([2, 0, 1, 3]).reshape([length, samples, self.embed_dim])
        output = self.out_proj(joined)
        if weights is not None:
            weights = weights.mean(1) if average_attn_weights else weights
        if single:
            return output.squeeze(1), None if weights is None else weights.squeeze(0)
        return (output.transpose(0, 1) if self.batch_first else output), weights

    def _mask(
        self, attn_mask: Tensor | None, padding: Tensor | None, q: Tensor, k: Tensor
    ) -> Tensor | None:
        """Both masks as numbers that broadcast to (N, heads, L, S)."""
        given = attn_mask if padding is None else padding
        # Keys that add_bias_kv and add_zero_attn append are never masked.
        added = 0 if given is None else k.shape[2] - given.shape[-1]
        result = None
        if attn_mask is not None:
            result = additive_mask(attn_mask, q.dtype, "attn_mask")
            if result is not None and result.dim() == 3:
                result = result.reshape([-1, self.num_heads, *result.shape[1:]])
        if padding is not None:
            numbers = additive_mask(padding, q.dtype, "key_padding_mask")
            if numbers is not None:
                numbers = numbers.reshape([numbers.shape[0], 1, 1, -1])
                result = numbers if result is None else result + numbers
        if result is not None and added:
            result = F.pad(result, (0, added))
        return result
