"""Parts of sparse tensors: rows, elements, chosen places, other shapes. They are new tensors, of
layout sparse_coo where dims are left that list places, and strided where none is.

Importing this module gives SparseTensor these methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import flambeau
from flambeau import _C
from flambeau._C import Tensor
from flambeau._sparse_tensor import SparseTensor, _dim, _sparse
from flambeau._values import brief

_internal: Any = _C._internal

F = TypeVar("F", bound=Callable[..., Any])


def _method(function: F) -> F:
    """Makes a function a method of sparse tensors."""
    setattr(SparseTensor, function.__name__, function)
    return function


_PART = 512  # bytes of a sparse tensor without elements, at least


def _listed(tensor: SparseTensor) -> SparseTensor:
    """The tensor in layout sparse_coo."""
    whole: Any = tensor
    found: SparseTensor = whole if tensor.layout is _C.sparse_coo else whole.to_sparse_coo()
    return found


def _number(tensor: Tensor, dim: int, index: Any, method: str) -> int:
    extent = tensor.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            f"Tensor.{method}(): index {index} is out of range for dim {dim} with {extent} elements"
        )
    return int(index) % extent


@_method
def select(self: SparseTensor, dim: int, index: int) -> Tensor:
    """What is at an index of a dim, without that dim.

    Raises:
        IndexError: if the dim or the index is out of range.
    """
    dim = _dim(self, dim, "Tensor.select")
    index = _number(self, dim, index, "select")
    tensor = _listed(self)
    places, values = tensor._indices(), _internal.sparse_values(tensor)
    sparse = places.shape[0]
    size = [*tensor.shape[:dim], *tensor.shape[dim + 1 :]]
    if dim >= sparse:
        values = values.select(dim - sparse + 1, index)
        return _sparse(places, values, size, tensor.is_coalesced())
    chosen = (places[dim] == index).nonzero().squeeze(1)
    values = values.index_select(0, chosen)
    if sparse == 1:
        total: Tensor = values.sum(0).to(values.dtype)
        return total
    kept = flambeau.cat([places[:dim], places[dim + 1 :]]).index_select(1, chosen)
    return _sparse(kept, values, size, tensor.is_coalesced())


@_method
def index_select(self: SparseTensor, dim: int, index: Tensor) -> Tensor:
    """What is at several indices of a dim, in their order.

    Args:
        dim: the dim.
        index: integers, [n] or a number, which may repeat.

    Raises:
        IndexError: if the dim or an index is out of range.
        TypeError: if `index` is no tensor of integers.
    """
    dim = _dim(self, dim, "Tensor.index_select")
    is_index = isinstance(index, Tensor) and index.dtype in (flambeau.int64, flambeau.int32)
    if not is_index or index.ndim > 1:
        raise TypeError(
            f"Tensor.index_select(): index must be a vector of int64 or int32, got {brief(index)}"
        )
    tensor = _listed(self)
    extent, wanted = tensor.shape[dim], index.reshape(-1).to(flambeau.int64)
    if bool(((wanted < 0) | (wanted >= extent)).any()):
        raise IndexError(
            f"Tensor.index_select(): index must be within [0, {extent - 1}] for dim {dim}, got "
            f"numbers from {int(wanted.min())} to {int(wanted.max())}"
        )
    places, values = tensor._indices(), _internal.sparse_values(tensor)
    sparse = places.shape[0]
    size = [*tensor.shape[:dim], wanted.numel(), *tensor.shape[dim + 1 :]]
    if dim >= sparse:
        values = values.index_select(dim - sparse + 1, wanted)
        return _sparse(places, values, size, tensor.is_coalesced())
    # Places by their number in this dim; of each wanted number those that have it, one by one.
    order = places[dim].argsort(stable=True)
    counts = flambeau.bincount(places[dim], minlength=extent)
    begins = counts.cumsum(0) - counts
    counts, begins = counts.index_select(0, wanted), begins.index_select(0, wanted)
    number = flambeau.arange(wanted.numel(), device=wanted.device).repeat_interleave(counts)
    first = (counts.cumsum(0) - counts).index_select(0, number)
    step = flambeau.arange(number.numel(), device=number.device) - first
    chosen = order.index_select(0, begins.index_select(0, number) + step)
    taken = places.index_select(1, chosen)
    kept = flambeau.cat([taken[:dim], number.unsqueeze(0), taken[dim + 1 :]])
    return _sparse(kept, values.index_select(0, chosen), size)


@_method
def narrow_copy(self: SparseTensor, dim: int, start: int, length: int) -> Tensor:
    """What is at `length` indices of a dim, from `start` on.

    Raises:
        IndexError: if the dim or an index is out of range.
    """
    dim = _dim(self, dim, "Tensor.narrow_copy")
    extent = self.shape[dim]
    begin = start + extent if start < 0 else start
    if not 0 <= begin <= begin + length <= extent or length < 0:
        raise IndexError(
            f"Tensor.narrow_copy(): start {start} and length {length} are out of range for dim "
            f"{dim} with {extent} elements"
        )
    return _sliced(self, dim, slice(begin, begin + length))


def _sliced(tensor: SparseTensor, dim: int, part: slice) -> Tensor:
    begin, end, step = part.indices(tensor.shape[dim])
    if step <= 0:
        raise ValueError(f"Tensor.__getitem__(): the step of a slice must be positive, got {step}")
    numbers = range(begin, end, step)
    if len(numbers) == tensor.shape[dim]:
        return tensor
    return index_select(tensor, dim, flambeau.arange(begin, max(begin, end), step))


@_method
def unsqueeze(self: SparseTensor, dim: int) -> Tensor:
    """With a dim of one element more, before dim `dim`.

    Raises:
        IndexError: if the dim is out of range.
    """
    ndim = self.ndim + 1
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Tensor.unsqueeze(): dim {dim} is out of range for shape {tuple(self.shape)}"
        )
    dim %= ndim
    tensor = _listed(self)
    places, values = tensor._indices(), _internal.sparse_values(tensor)
    size = [*tensor.shape[:dim], 1, *tensor.shape[dim:]]
    if dim > places.shape[0]:
        values = values.unsqueeze(dim - places.shape[0] + 1)
        return _sparse(places, values, size, tensor.is_coalesced())
    row = places.new_zeros(1, places.shape[1])
    more = flambeau.cat([places[:dim], row, places[dim:]])
    return _sparse(more, values, size, tensor.is_coalesced())


@_method
def unbind(self: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """What is at each index of a dim.

    Raises:
        IndexError: if the dim is out of range.
        MemoryError: if so many tensors fit into no memory; `select` gives one of them.
    """
    dim = _dim(self, dim, "Tensor.unbind")
    if self.shape[dim] > _C._usable_memory() // _PART:
        raise MemoryError(
            f"Tensor.unbind(): a tensor for each of the {self.shape[dim]} indices of dim {dim} "
            "takes more memory than there is; iterate over the tensor, or select() some of them"
        )
    return tuple(_slices(self, dim))


def _slices(self: SparseTensor, dim: int) -> Iterator[Tensor]:
    """What is at each index of a dim: entries are sorted by it once, not looked for each time."""
    tensor = _listed(self)
    extent, sparse = tensor.shape[dim], tensor.sparse_dim()
    if dim >= sparse:
        return (select(tensor, dim, i) for i in range(extent))
    if sparse == 1:
        entries: Any = tensor.coalesce()
        values = _internal.sparse_values(entries)
        found: Any = flambeau.unbind_copy(values)
        absent = values.narrow(0, 0, 0).sum(0).to(values.dtype)
        return _at_each(extent, entries._indices()[0].tolist(), found, absent.clone)
    size = [*tensor.shape[:dim], *tensor.shape[dim + 1 :]]
    places, values = tensor._indices(), _internal.sparse_values(tensor)
    order = places[dim].argsort(stable=True)
    numbers, counts = places[dim].index_select(0, order).unique_consecutive(return_counts=True)
    kept = flambeau.cat([places[:dim], places[dim + 1 :]]).index_select(1, order)
    values, lengths = values.index_select(0, order), counts.tolist()

    def made(places: Tensor, values: Tensor) -> Tensor:
        return _sparse(places, values, size, tensor.is_coalesced())

    cut = flambeau.split_with_sizes_copy
    parts = cut(kept, lengths, 1), cut(values, lengths)
    none = kept.narrow(1, 0, 0), values.narrow(0, 0, 0)
    return _at_each(extent, numbers.tolist(), map(made, *parts), lambda: made(*none))


def _at_each(
    extent: int, numbers: list[int], found: Iterable[Tensor], absent: Callable[[], Tensor]
) -> Iterator[Tensor]:
    """What is found at ascending numbers below `extent`, and what stands for the others."""
    known, next_one = iter(found), iter([*numbers, extent])
    number = next(next_one)
    for i in range(extent):
        if i == number:
            number = next(next_one)
            yield next(known)
        else:
            yield absent()


@_method
def __len__(self: SparseTensor) -> int:
    """The size of the first dim."""
    if self.ndim == 0:
        raise TypeError("Tensor.__len__(): a tensor without dims has no length")
    return int(self.shape[0])


@_method
def __iter__(self: SparseTensor) -> Iterator[Tensor]:
    """What is at each index of the first dim, one after the other."""
    len(self)
    return _slices(self, 0)


@_method
def __getitem__(self: SparseTensor, index: Any) -> Tensor:
    """`x[i, a:b, None, ..., [i, j]]`: numbers, slices, new dims, and a vector of integers or bools.

    Raises:
        IndexError: if there are more indices than dims, or one is out of range.
        TypeError: for anything else.
    """
    items = _expanded(self, index if isinstance(index, tuple) else (index,))
    result: Any = self
    dim = 0
    for item in items:
        if item is None:
            result, dim = result.unsqueeze(dim), dim + 1
        elif isinstance(item, slice):
            if item != slice(None):
                sparse = isinstance(result, SparseTensor)
                result = _sliced(result, dim, item) if sparse else _of(result, dim, item)
            dim += 1
        elif isinstance(item, int):
            if not isinstance(result, SparseTensor):
                result = _of(result, dim, item)
            else:
                result = select(result, dim, item)
        else:
            result, dim = result.index_select(dim, item), dim + 1
    found: Tensor = result
    return found


def _of(tensor: Tensor, dim: int, item: Any) -> Tensor:
    """A part of what has become a strided tensor."""
    found: Tensor = tensor[(slice(None),) * dim + (item,)]
    return found


def _expanded(tensor: SparseTensor, items: tuple[Any, ...]) -> list[Any]:
    """Indices of single dims: `...` written out, lists and bools as vectors of numbers."""
    taken = len([item for item in items if item is not None and item is not Ellipsis])
    if taken > tensor.ndim:
        raise IndexError(
            f"Tensor.__getitem__(): {taken} indices for {tensor.ndim} dims, shape "
            f"{tuple(tensor.shape)}"
        )
    found: list[Any] = []
    dim = vectors = 0
    for item in items:
        if item is Ellipsis:
            rest = tensor.ndim - taken
            found += [slice(None)] * rest
            taken, dim = tensor.ndim, dim + rest
            continue
        if item is not None:
            item, dim = _one(item, tensor.shape[dim]), dim + 1
        vectors += isinstance(item, Tensor)
        found.append(item)
    if vectors > 1:
        raise TypeError(
            "Tensor.__getitem__(): a sparse tensor takes one vector of indices at a time, got "
            f"{vectors}"
        )
    return found


def _one(item: Any, extent: int) -> Any:
    """An index of a dim: a number, a slice, or a vector of numbers that are not negative."""
    if isinstance(item, slice):
        return item
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    if isinstance(item, list | range):
        item = flambeau.tensor(list(item), dtype=None if item else flambeau.int64)
    if isinstance(item, Tensor) and item.ndim == 1 and item.dtype is flambeau.bool:
        if item.numel() != extent:
            raise IndexError(
                f"Tensor.__getitem__(): a mask of {item.numel()} elements for a dim with {extent}"
            )
        return item.nonzero().squeeze(1)
    if isinstance(item, Tensor) and not item.is_floating_point() and not item.is_complex():
        if item.ndim == 0 and item.dtype is not flambeau.bool:
            return int(item)
        if item.ndim == 1:
            numbers = item.to(flambeau.int64)
            return flambeau.where(numbers < 0, numbers + extent, numbers)
    raise TypeError(
        "Tensor.__getitem__(): a sparse tensor is indexed by numbers, slices, None, ... and a "
        f"vector of integers or bools, got {brief(item)}"
    )


@_method
def sum(self: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over dims.

    Args:
        dim: one or several; None: all.
        keepdim: whether they stay, with one element.
        dtype: of the result; None: that of `sparse.sum`.
    """
    if dim is None and not keepdim:
        found: Tensor = flambeau.sum(self, dtype=dtype)
        return found
    dims = range(self.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    result = flambeau.sparse.sum(_listed(self), list(dims), dtype=dtype)
    for d in sorted(_dim(self, d, "Tensor.sum") for d in dims) if keepdim else ():
        result = result.unsqueeze(d)
    return result


@_method
def permute(self: SparseTensor, *dims: Any) -> Tensor:
    """The dims in another order: the sparse ones among each other, and the dense ones.

    Raises:
        IndexError: if a dim is out of range.
        RuntimeError: if they are not all dims, or a sparse one changes with a dense one.
    """
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [_dim(self, d, "Tensor.permute") for d in given]
    sparse = self.sparse_dim()
    if sorted(order) != [*range(self.ndim)] or any(d >= sparse for d in order[:sparse]):
        raise RuntimeError(
            f"Tensor.permute(): dims must be all of {self.ndim}, and the first {sparse}, which are "
            f"sparse, stay first; got {tuple(given)}"
        )
    tensor = _listed(self)
    values = _internal.sparse_values(tensor)
    values = values.permute(0, *(d - sparse + 1 for d in order[sparse:]))
    size = [tensor.shape[d] for d in order]
    same = order[:sparse] == [*range(sparse)]
    places = tensor._indices()
    return _sparse(places[order[:sparse]], values, size, same and tensor.is_coalesced())


@_method
def norm(self: SparseTensor, p: Any = None) -> Tensor:
    """The norm of all elements: those that are not listed add nothing.

    Args:
        p: its order, positive; None: 2.
    """
    order = 2 if p is None else p
    if not isinstance(order, int | float) or not order > 0:
        raise ValueError(
            f"Tensor.norm(): p must be a positive number of a sparse tensor, got {brief(p)}"
        )
    found: Tensor = flambeau.linalg.vector_norm(self.coalesce().values(), order)
    return found
