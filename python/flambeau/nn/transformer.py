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
        device, dtype: of the parameters.

    Shapes: src and result (L, N, d_model), or (L, d_model); src_mask (L, L) or (N * nhead, L, L);
    src_key_padding_mask (N, L).

    Equations:
        y = norm1(x + attention(x, x, x))
        z = norm2(y + linear2(activation(linear1(y))))

    Source: A. Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> layer = flambeau.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> layer(flambeau.ones(3, 5, 8)).shape
        flambeau.Size([3, 5, 8])
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
    """Self-attention, attention over a memory, and a two-layer network.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps: as of the encoder's.
        batch_first, norm_first: as of TransformerEncoderLayer.
        bias: whether linear layers and norms have biases.
        device, dtype: of the parameters.

    Shapes: tgt and result (T, N, d_model), memory (S, N, d_model), or all without N; tgt_mask (T,
    T), memory_mask (T, S); tgt_key_padding_mask (N, T), memory_key_padding_mask (N, S).

    Equations:
        y = norm1(x + attention(x, x, x))
        z = norm2(y + attention(y, memory, memory))
        output = norm3(z + linear2(activation(linear1(z))))

    Example:
        >>> layer = flambeau.nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> layer(flambeau.ones(3, 4, 8), memory=flambeau.ones(3, 5, 8)).shape
        flambeau.Size([3, 4, 8])
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
    """Copies of an encoder layer, one after the other, and an optional last norm.

    Args:
        encoder_layer: is copied.
        num_layers: how often.
        norm: is applied to the result.
        enable_nested_tensor, mask_check: are taken and change nothing.

    Shapes: as of the layer.

    Example:
        >>> layer = flambeau.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> encoder = flambeau.nn.TransformerEncoder(layer, num_layers=2)
        >>> encoder(flambeau.ones(3, 5, 8)).shape
        flambeau.Size([3, 5, 8])
    """

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
    """Copies of a decoder layer, one after the other, and an optional last norm.

    Args:
        decoder_layer: is copied.
        num_layers: how often.
        norm: is applied to the result.

    Shapes: as of the layer.

    Example:
        >>> layer = flambeau.nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> decoder = flambeau.nn.TransformerDecoder(layer, num_layers=2)
        >>> decoder(flambeau.ones(3, 4, 8), flambeau.ones(3, 5, 8)).shape
        flambeau.Size([3, 4, 8])
    """

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
    """An encoder and a decoder.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps: as of the layers.
        batch_first, norm_first, bias, device, dtype: as of TransformerEncoderLayer.
        num_encoder_layers, num_decoder_layers: how many layers.
        custom_encoder, custom_decoder: are used instead of those that the other arguments describe.

    Shapes: src (S, N, d_model), tgt and result (T, N, d_model); with batch_first (N, S, d_model),
    (N, T, d_model); or all without N.

    Source: A. Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> model = flambeau.nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
        >>> mask = model.generate_square_subsequent_mask(4)
        >>> model(flambeau.ones(3, 5, 8), flambeau.ones(3, 4, 8), tgt_mask=mask).shape
        flambeau.Size([3, 4, 8])
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
