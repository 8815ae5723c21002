"""Bags of embeddings."""

from __future__ import annotations

from typing import Self

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.embedding import padding_row
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter


class EmbeddingBag(Module):
    """Sums, means or maxima of the rows of a table that the indices of each bag name.

    Args:
        num_embeddings, embedding_dim: rows and columns of the table.
        max_norm: rows that are looked up and longer are scaled down to it, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of the table is of layout sparse_coo, for SparseAdam, SGD and
            Adagrad; with mode "max" it cannot be.
        include_last_offset: whether offsets end with the number of indices.
        padding_idx: a row that counts for nothing.
        device, dtype: of the parameters.

    Shapes: input (bags, length), or (indices) with offsets (bags); output (bags, embedding_dim).

    Example:
        >>> table = flambeau.nn.EmbeddingBag.from_pretrained(flambeau.tensor([[1.], [2.], [6.]]))
        >>> table(flambeau.tensor([0, 1, 2]), offsets=flambeau.tensor([0, 2]))  # two means
        tensor([[1.5000],
                [6.0000]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: flambeau.device | str | None = None,
        dtype: flambeau.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = padding_row("EmbeddingBag", padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        shape = (num_embeddings, embedding_dim)
        if _weight is None:
            self.weight = Parameter(flambeau.empty(shape, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != shape:
                seen = tuple(_weight.shape)
                raise ValueError(f"EmbeddingBag: weight of shape {seen}, expected {brief(shape)}")
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draws a new table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with flambeau.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """An EmbeddingBag of a given table (rows, columns), without gradients when `freeze`."""
        if embeddings.dim() != 2:
            raise ValueError(f"from_pretrained: expected a matrix, got {tuple(embeddings.shape)}")
        rows, columns = embeddings.shape
        layer = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
            include_last_offset, padding_idx,
        )  # fmt: skip
        layer.weight.requires_grad = not freeze
        return layer

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text
