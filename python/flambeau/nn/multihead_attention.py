"""Multi-head attention (A. Vaswani et al., Attention Is All You Need, 2017)."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.linear import NonDynamicallyQuantizableLinear
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter


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
        device, dtype: of the parameters.

    Shapes: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), or without N; output as
    the query; weights (N, L, S), or (N, num_heads, L, S) when not averaged.

    Equations:
        Q[i] = query @ W_Q[i]
        K[i] = key @ W_K[i]
        V[i] = value @ W_V[i]
        head[i] = softmax(Q[i] @ K[i].T / sqrt(embed_dim / num_heads)) @ V[i]
        output = concat(head[1], ..., head[num_heads]) @ W_O

    Source: A. Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> layer = flambeau.nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
        >>> x = flambeau.ones(1, 5, 8)
        >>> result, weights = layer(x, x, x)
        >>> result.shape, weights.shape
        (flambeau.Size([1, 5, 8]), flambeau.Size([1, 5, 5]))
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

        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        separate = not self._qkv_same_embed_dim
        self.register_parameter(
            "in_proj_weight", None if separate else weight(3 * embed_dim, embed_dim)
        )
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            own = weight(embed_dim, size) if separate else None
            self.register_parameter(f"{name}_proj_weight", own)
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **where)
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
        turned = self.batch_first and query.dim() == 3
        if turned:
            # One tensor stays one, so that one product projects it.
            same, shared = query is key, key is value
            query = query.transpose(0, 1)
            key = query if same else key.transpose(0, 1)
            value = key if shared else value.transpose(0, 1)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads,
            self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
            self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim,
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, None, None,
            average_attn_weights, is_causal,
        )  # fmt: skip
        return (output.transpose(0, 1) if turned else output), weights
