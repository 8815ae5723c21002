"""Tables of vectors."""

from __future__ import annotations

from typing import Any, Self

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter


def padding_row(name: str, padding_idx: int | None, rows: int) -> int | None:
    """The row of padding, counted from the front; None where there is none."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise ValueError(f"{name}: padding_idx {padding_idx} is out of range for {rows} rows")
    return padding_idx % rows


class Embedding(Module):
    """Looks up rows of a table; rows start as standard normal numbers.

    Args:
        num_embeddings, embedding_dim: rows and columns of the table.
        padding_idx: a row of zeros that gets no gradient.
        max_norm: rows that are looked up and longer are scaled down to it, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        sparse: whether the gradient of the table is of layout sparse_coo, for SparseAdam, SGD and
            Adagrad.
        device, dtype: of the parameters.

    Shapes: input of any shape, int32 or int64; output (*input.shape, embedding_dim).

    Example:
        >>> table = flambeau.nn.Embedding(10, 3)
        >>> table(flambeau.tensor([[1, 2], [3, 4]])).shape
        flambeau.Size([2, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_row("Embedding", padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            shape = (num_embeddings, embedding_dim)
            self.weight = Parameter(
                flambeau.empty(shape, device=device, dtype=dtype), requires_grad=not _freeze
            )
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise ValueError(
                    f"Embedding: weight of shape {tuple(_weight.shape)}, expected "
                    f"{(num_embeddings, embedding_dim)}"
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draws a new table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with flambeau.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding of a given table (rows, columns), without gradients when `freeze`."""
        if embeddings.dim() != 2:
            raise ValueError(f"from_pretrained: expected a matrix, got {tuple(embeddings.shape)}")
        rows, columns = embeddings.shape
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings,
            freeze,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        return text
