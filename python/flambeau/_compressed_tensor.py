"""Sparse matrices with compressed rows (sparse_csr) or columns (sparse_csc): how they are made, and
what they are made of. Operators take them as any sparse tensor, and keep the layout of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import _C
from flambeau._C import Tensor
from flambeau._sparse_invariants import checks
from flambeau._sparse_tensor import SparseTensor, in_layout, parts_of, place_compressed
from flambeau._values import brief

_BLOCKED = ("sparse_bsr", "sparse_bsc")


# Making them --------------------------------------------------------------------------------------


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix with compressed rows: row i holds the values of number `crow_indices[i]` to
    `crow_indices[i + 1]`, the latter left out, in the columns that `col_indices` says.

    Args:
        crow_indices: offsets, integers, [rows + 1], from 0 to n in ascending order.
        col_indices: the column of each value, integers, [n]; kept as int64.
        values: the values, [n], a tensor or numbers.
        size: the shape of the matrix; None: as many columns as hold all values.
        dtype: of the values; None: theirs.
        device: where the result lives; None: where the values are.
        requires_grad: whether operations on the result are recorded.
        check_invariants: offsets and columns are checked in any case; True: whether the columns of
            each row ascend, too. Where they do not, values at one place are added.
        layout: None or flambeau.sparse_csr.
        pin_memory: False.

    Raises:
        RuntimeError: if offsets, columns, values and size do not agree.
        NotImplementedError: for batches of matrices, and for pinned memory.

    Example:
        >>> x = flambeau.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [4., 5., 6.])
        >>> x.to_dense()
        tensor([[0., 0., 4.],
                [5., 6., 0.]])
        >>> x @ flambeau.ones(3, 1)
        tensor([[ 4.],
                [11.]])
    """
    layout = _expected("sparse_csr_tensor", layout, _C.sparse_csr)
    parts = (crow_indices, col_indices, values, size, dtype, device)
    return _made("sparse_csr_tensor", layout, parts, requires_grad, pin_memory, check_invariants)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix with compressed columns: `sparse_csr_tensor`, columns in the place of rows.

    Args:
        ccol_indices: offsets, integers, [columns + 1], from 0 to n in ascending order.
        row_indices: the row of each value, integers, [n]; kept as int64.
        values, size, dtype, device, requires_grad, check_invariants: as in `sparse_csr_tensor`.
        layout: None or flambeau.sparse_csc.
        pin_memory: False.

    Example:
        >>> flambeau.sparse_csc_tensor([0, 1, 3], [2, 0, 1], [4., 5., 6.]).to_dense()
        tensor([[0., 5.],
                [0., 6.],
                [4., 0.]])
    """
    layout = _expected("sparse_csc_tensor", layout, _C.sparse_csc)
    parts = (ccol_indices, row_indices, values, size, dtype, device)
    return _made("sparse_csc_tensor", layout, parts, requires_grad, pin_memory, check_invariants)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix with compressed rows or columns, as `layout` says.

    Args:
        compressed_indices: offsets of rows or columns, integers.
        plain_indices: the column or row of each value.
        values, size, dtype, device, requires_grad, check_invariants: as in `sparse_csr_tensor`.
        layout: flambeau.sparse_csr or flambeau.sparse_csc.
        pin_memory: False.

    Example:
        >>> layout = flambeau.sparse_csc
        >>> x = flambeau.sparse_compressed_tensor([0, 1], [2], [4.], layout=layout)
        >>> x.shape, x.layout
        (flambeau.Size([3, 1]), flambeau.sparse_csc)
    """
    name = "sparse_compressed_tensor"
    if layout not in (_C.sparse_csr, _C.sparse_csc):
        raise _not_covered(name, layout)
    parts = (compressed_indices, plain_indices, values, size, dtype, device)
    return _made(name, layout, parts, requires_grad, pin_memory, check_invariants)


def _made(
    name: str,
    layout: Any,
    parts: tuple[Any, ...],
    requires_grad: bool,
    pin_memory: bool,
    check_invariants: bool | None,
) -> Tensor:
    outer, inner, values, size, dtype, device = parts
    if pin_memory:
        raise NotImplementedError(f"{name}(): pin_memory must be False")
    elements = flambeau.as_tensor(values, dtype=dtype, device=device)
    if elements.is_meta:
        raise NotImplementedError(f"{name}(): values must have data; they are on the device meta")
    outer_name, inner_name = parts_of(layout)
    offsets = _integers(outer, elements.device, f"{name}(): {outer_name}")
    others = _integers(inner, elements.device, f"{name}(): {inner_name}")
    if offsets.numel() == 0 or elements.ndim == 0 or elements.shape[0] != others.shape[0]:
        raise RuntimeError(
            f"{name}(): expected an offset for each row or column and one more, and a value for "
            f"each of {inner_name}, got shapes {tuple(offsets.shape)}, {tuple(others.shape)} and "
            f"{tuple(elements.shape)}"
        )
    counts = offsets.diff()
    ends = (int(offsets[0]), int(offsets[-1]))
    # Differences may wrap around: offsets are compared, too.
    outside = (counts < 0).any() | (offsets < 0).any() | (offsets > others.shape[0]).any()
    if ends != (0, others.shape[0]) or bool(outside):
        raise RuntimeError(
            f"{name}(): {outer_name} must ascend from 0 to {others.shape[0]}, the number of "
            f"values; they go from {ends[0]} to {ends[1]}"
        )
    count = counts.shape[0]
    numbers = flambeau.arange(count, device=offsets.device).repeat_interleave(counts)
    by_row = layout is _C.sparse_csr
    if size is None:
        least = int(others.max()) + 1 if others.numel() else 0
        size = [*((count, least) if by_row else (least, count)), *elements.shape[1:]]
    if len(size) < 2 or size[0 if by_row else 1] != count:
        raise RuntimeError(
            f"{name}(): {outer_name} of shape {tuple(offsets.shape)} do not go with size "
            f"{tuple(size)}"
        )
    places = flambeau.stack([numbers, others] if by_row else [others, numbers])
    result = place_compressed(places, elements, size, layout)
    if checks(check_invariants) and not result.is_coalesced():
        raise RuntimeError(f"{name}(): {inner_name} must ascend in each row or column")
    return result.detach().requires_grad_() if requires_grad else result


def _integers(numbers: Any, device: Any, what: str) -> Tensor:
    """Indices as int64, [n]."""
    found = flambeau.as_tensor(numbers)
    if found.numel() == 0:
        found = found.to(flambeau.int64)
    if found.is_floating_point() or found.is_complex() or found.dtype is flambeau.bool:
        raise RuntimeError(f"{what} must be integers, got {found.dtype}")
    if found.ndim > 1:
        raise NotImplementedError(
            f"{what} must have 1 dim, got shape {tuple(found.shape)}: batches of matrices are not "
            "covered"
        )
    if found.ndim == 0:
        raise RuntimeError(f"{what} must have 1 dim, got a number")
    return found.to(dtype=flambeau.int64, device=device)


def _expected(name: str, layout: Any, wanted: Any) -> Any:
    if layout is not None and layout is not wanted:
        raise TypeError(f"{name}(): layout must be {wanted}, got {brief(layout)}")
    return wanted


def _not_covered(name: str, layout: Any) -> Exception:
    if getattr(layout, "name", None) in _BLOCKED:
        return NotImplementedError(
            f"{name}(): layout {layout}, of blocks, is not covered; sparse_coo with dense dims, "
            "sparse_csr and sparse_csc are"
        )
    return TypeError(
        f"{name}(): layout must be flambeau.sparse_csr or flambeau.sparse_csc, got {brief(layout)}"
    )


# Methods of every tensor --------------------------------------------------------------------------

_to_sparse: Any = _C._internal.sparse_of


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The sparse tensor, coalesced, of what is not zero.

    Args:
        sparse_dim: how many of the first dims are sparse; None: all.
        layout: flambeau.sparse_coo (None), sparse_csr or sparse_csc, which matrices can have.
        blocksize: None; layouts of blocks are not covered.
        dense_dim: how many of the last dims the values have, in place of sparse_dim.

    Raises:
        NotImplementedError: for a layout of blocks.
        RuntimeError: where the dims do not go together, or are not those of the layout.

    Example:
        >>> x = flambeau.tensor([[0., 2.], [0., 3.]]).to_sparse()
        >>> x.indices(), x.values()
        (tensor([[0, 1],
                [1, 1]]), tensor([2., 3.]))
    """
    if blocksize is not None:
        raise NotImplementedError("to_sparse(): layouts of blocks are not covered: no blocksize")
    if layout in (_C.sparse_csr, _C.sparse_csc):
        if sparse_dim not in (None, 2):
            raise RuntimeError(f"to_sparse(): sparse_dim must be 2 for layout {layout}")
        return _compressed(self, layout, dense_dim, "to_sparse")
    if layout is not None and layout is not _C.sparse_coo:
        raise _not_covered("to_sparse", layout)
    if dense_dim is not None:
        if sparse_dim not in (None, self.ndim - dense_dim):
            raise RuntimeError("to_sparse(): sparse_dim and dense_dim must add up to all dims")
        sparse_dim = self.ndim - dense_dim
    found: Tensor = _to_sparse(self, sparse_dim)
    return found


def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in layout sparse_coo."""
    found: Tensor = _to_sparse(self)
    return found


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix with compressed rows.

    Args:
        dense_dim: how many dims the values have; None: those beyond two.

    Example:
        >>> x = flambeau.tensor([[0., 2.], [3., 0.]]).to_sparse_csr()
        >>> x.crow_indices(), x.col_indices(), x.values()
        (tensor([0, 1, 2]), tensor([1, 0]), tensor([2., 3.]))
    """
    return _compressed(self, _C.sparse_csr, dense_dim, "to_sparse_csr")


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix with compressed columns.

    Args:
        dense_dim: how many dims the values have; None: those beyond two.

    Example:
        >>> flambeau.tensor([[0., 2.], [3., 0.]]).to_sparse_csc().row_indices()
        tensor([1, 0])
    """
    return _compressed(self, _C.sparse_csc, dense_dim, "to_sparse_csc")


def _compressed(tensor: Tensor, layout: Any, dense_dim: int | None, name: str) -> Tensor:
    dense = dense_dim or 0
    if not isinstance(tensor, SparseTensor):
        if tensor.ndim - dense != 2:
            kind = NotImplementedError if tensor.ndim > 2 else RuntimeError
            raise kind(
                f"{name}(): expected a matrix, got shape {tuple(tensor.shape)}: batches of "
                "matrices are not covered; dense_dim says how many last dims the values have"
            )
        tensor = _to_sparse(tensor, 2)
    if tensor.sparse_dim() != 2:
        raise RuntimeError(f"{name}(): expected 2 sparse dims, got {tensor.sparse_dim()}")
    if dense_dim is not None and tensor.dense_dim() != dense:
        raise RuntimeError(f"{name}(): dense_dim is {tensor.dense_dim()} already, got {dense}")
    if layout is _C.sparse_csc and tensor.dense_dim() > 0:
        raise NotImplementedError(
            f"{name}(): compressed columns are of single numbers, got values with "
            f"{tensor.dense_dim()} dims of their own"
        )
    return in_layout(tensor, layout)


def _part(name: str, layout: Any, row: int, doc: str) -> Callable[[Tensor], Tensor]:
    """A method that gives places of a compressed tensor; `row` of the indices, as they are or as
    offsets.
    """

    def part(self: Any) -> Tensor:
        if self.layout is not layout:
            raise RuntimeError(
                f"Tensor.{name}(): expected a tensor of layout {layout}, got {self.layout}"
            )
        places: Tensor = self._indices()[row]
        if name == parts_of(layout)[1]:
            return places
        counts = flambeau.bincount(places, minlength=self.shape[row])
        return flambeau.cat([counts.new_zeros(1), counts.cumsum(0)])

    part.__name__ = name
    part.__doc__ = doc
    return part


for _method in (
    to_sparse,
    to_sparse_coo,
    to_sparse_csr,
    to_sparse_csc,
    _part(
        "crow_indices", _C.sparse_csr, 0, "Offsets of the rows of layout sparse_csr, [rows + 1]."
    ),
    _part("col_indices", _C.sparse_csr, 1, "The columns of the values of layout sparse_csr, [n]."),
    _part("ccol_indices", _C.sparse_csc, 1, "Offsets of the columns of layout sparse_csc."),
    _part("row_indices", _C.sparse_csc, 0, "The rows of the values of layout sparse_csc, [n]."),
):
    setattr(Tensor, _method.__name__, _method)
