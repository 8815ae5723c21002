"""Transformers (A. Vaswani et al., Attention Is All You Need, 2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.containers import ModuleList
from flambeau.nn.dropout import Dropout
from flambeau.nn.linear import Linear
from flambeau.nn.module import Module
from flambeau.nn.multihead_attention import MultiheadAttention
from flambeau.nn.normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


def _activation(name: Activation) -> Callable[[Tensor], Tensor]:
    if callable(name):
        return name
    if name not in ("relu", "gelu"):
        raise ValueError(f"activation must be 'relu', 'gelu' or a function, got {brief(name)}")
    return F.relu if name == "relu" else F.gelu


def _copies(module: Module, count: int) -> ModuleList:
    if not isinstance(module, Module):
        raise TypeError(f"expected a layer (a Module) to copy, got {type(module).__name__}")
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """The feed-forward part, and options that encoder and decoder layers share."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: Activation,
        layer_norm_eps: float,
        norm_first: bool,
        norms: int,
        attentions: tuple[str, ...],
        batch_first: bool,
        bias: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias=bias, batch_first=batch_first, **where
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        for i in range(1, norms + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **where))
        for i in range(1, norms + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a two-layer network, each with a residual connection and a layer norm.

    Args:
        d_model: features.
        nhead: attention heads.
        dim_feedforward: features between the two linear layers.
        dropout: probability.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: eps of the layer norms.
        batch_first: tensors are (N, L, E) instead of (L, N, E).
        norm_first: normalize before each part instead of after.
        bias: whether linear layers and norms have biases.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, norm_first, 2,
            ("self_attn",), batch_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            mixed, _ = self.self_attn(
                x, x, x, attn_mask=src_mask, key_padding_mask=src_key_padding_mask,
                need_weights=False, is_causal=is_causal,
            )  # fmt: skip
            return self.dropout1(mixed)

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + self.dropout2(self._feed_forward(self.norm2(src)))
        src = self.norm1(src + attend(src))
        return self.norm2(src + self.dropout2(self._feed_forward(src)))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention over a memory, and a two-layer network; arguments as of
    TransformerEncoderLayer."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, norm_first, 3,
            ("self_attn", "multihead_attn"), batch_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            mixed, _ = self.self_attn(
                x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask,
                need_weights=False, is_causal=tgt_is_causal,
            )  # fmt: skip
            return self.dropout1(mixed)

        def look_up(x: Tensor) -> Tensor:
            mixed, _ = self.multihead_attn(
                x, memory, memory, attn_mask=memory_mask,
                key_padding_mask=memory_key_padding_mask, need_weights=False,
                is_causal=memory_is_causal,
            )  # fmt: skip
            return self.dropout2(mixed)

        x = tgt
        if self.norm_first:
            x = x + attend(self.norm1(x))
            x = x + look_up(self.norm2(x))
            return x + self.dropout3(self._feed_forward(self.norm3(x)))
        x = self.norm1(x + attend(x))
        x = self.norm2(x + look_up(x))
        return self.norm3(x + self.dropout3(self._feed_forward(x)))


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other, and an optional last norm."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(
                src, src_mask=mask, src_key_padding_mask=src_key_padding_mask,
                is_causal=bool(is_causal) and mask is not None,
            )  # fmt: skip
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other, and an optional last norm."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                bool(tgt_is_causal) and tgt_mask is not None, memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder; arguments as of their layers.

    Shapes: src (S, N, d_model), tgt and result (T, N, d_model); with batch_first (N, S, d_model),
    ...
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        flags = (batch_first, norm_first, bias)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options, *flags, **where),
            num_encoder_layers,
            LayerNorm(d_model, layer_norm_eps, bias=bias, **where),
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options, *flags, **where),
            num_decoder_layers,
            LayerNorm(d_model, layer_norm_eps, bias=bias, **where),
        )
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            tgt_is_causal, memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz): 0 at and below the diagonal, minus infinity above."""
        return flambeau.full([sz, sz], -math.inf, dtype=dtype, device=device).triu(1)
