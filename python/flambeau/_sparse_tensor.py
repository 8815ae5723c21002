"""Tensors of sparse layouts: the type of their objects, and how those of sparse_coo are made.

`SparseTensor` is a subclass of Tensor that no program names: every tensor of such a layout is an
instance, so that what looks at the type of an argument never takes one for a strided tensor. What
operators do with them is declared (`layouts` of an entry); here stands what is no operator.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import islice
from typing import Any

import flambeau
from flambeau import _C
from flambeau._C import Tensor, _overrides
from flambeau._sparse_invariants import checks
from flambeau._tensor_str import join_suffixes, part_text, state_suffixes
from flambeau._values import brief, check_memo

_internal: Any = _C._internal

_MOST_DIMS = 64  # kMaxDims of core/geometry/shape.h
_CONVERSIONS = (
    *("float", "double", "half", "bfloat16", "cfloat", "cdouble"),
    *("bool", "byte", "char", "short", "int", "long", "cpu", "cuda", "type_as", "to"),
)


@_overrides.sparse_tensor_type
class SparseTensor(Tensor):
    """A tensor that lists places and values: `values[i]` stands at `indices[:, i]`, all else is
    zero.

    Values at one place are added. Those of layout sparse_csr and sparse_csc list matrices, grouped
    by row or by column. The first `sparse_dim()` dims are those of the indices; the
    others, `dense_dim()` of them, are dims of each value.
    """

    # Functions of `flambeau` by name, for arguments that no declared overload takes; see
    # calls/calls.cpp.
    _functions: dict[str, Callable[..., Any]] = {}  # noqa: RUF012

    def _indices(self) -> Tensor:
        """The places, int64 [sparse dims, n]; shared memory."""
        found: Tensor = _internal.sparse_indices(self)
        return found

    def _values(self) -> Tensor:
        """The values, [n, *dense dims], without history; shared memory."""
        found: Tensor = _internal.sparse_values(self.detach())
        return found

    def _nnz(self) -> int:
        """How many places are listed."""
        return self._indices().shape[1]

    def is_coalesced(self) -> bool:
        """Whether no place is listed twice, and they are in row-major order; of sparse_csc, in
        column-major order.
        """
        return bool(_internal.sparse_flag(self).item())

    def _coalesced_(self, coalesced: bool) -> Tensor:
        """Says whether it is coalesced, which is believed; returns self."""
        parts = (self._indices(), self._values(), list(self.shape), bool(coalesced))
        _internal.sparse_assign_(self, _sparse(*parts, self.layout))
        return self

    def coalesce(self) -> Tensor:
        """A tensor of the same elements that lists each place once, in the order of its layout;
        itself if it does so already.
        """
        if self.is_coalesced():
            return self
        found: Tensor = _internal.sparse_once(self)
        return found

    def indices(self) -> Tensor:
        """The places of a coalesced tensor, int64 [sparse dims, n].

        Raises:
            RuntimeError: if the tensor is not coalesced, or of another layout.
        """
        if self.layout is not flambeau.sparse_coo:
            raise RuntimeError(
                f"Tensor.indices(): expected a tensor of layout sparse_coo, got {self.layout}; "
                "convert it with to_sparse_coo()"
            )
        self._check_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        """The values, [n, *dense dims]; gradients flow through them.

        Raises:
            RuntimeError: if the tensor is of layout sparse_coo and not coalesced.
        """
        if self.layout is flambeau.sparse_coo:
            self._check_coalesced("values")
        found: Tensor = _internal.sparse_values(self)
        return found

    def _check_coalesced(self, method: str) -> None:
        if not self.is_coalesced():
            raise RuntimeError(
                f"Tensor.{method}(): the tensor is not coalesced; call coalesce() first, or "
                f"_{method}()"
            )

    def sparse_dim(self) -> int:
        """How many of the first dims are sparse."""
        return self._indices().shape[0]

    def dense_dim(self) -> int:
        """How many of the last dims are those of a value."""
        return self._values().ndim - 1

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Two sparse dims, or two dense ones, swapped.

        Raises:
            IndexError: if a dim is out of range.
            RuntimeError: if one is sparse and the other dense.
        """
        first, second = (_dim(self, dim, "transpose") for dim in (dim0, dim1))
        if self.layout is not flambeau.sparse_coo and {first, second} == {0, 1}:
            return self.t()
        sparse = self.sparse_dim()
        if (first < sparse) != (second < sparse):
            raise RuntimeError(
                f"Tensor.transpose(): dims {dim0} and {dim1} must both be sparse or both dense; "
                f"the first {sparse} are sparse"
            )
        size = list(self.shape)
        size[first], size[second] = size[second], size[first]
        places, values = self._indices(), _internal.sparse_values(self)
        if first >= sparse:
            values = values.transpose(first - sparse + 1, second - sparse + 1)
            return _sparse(places, values, size, self.is_coalesced(), self.layout)
        order = list(range(sparse))
        order[first], order[second] = second, first
        return _sparse(places[order], values, size)

    @property
    def T(self) -> Tensor:
        """The transpose of a sparse matrix."""
        return self.t()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """False: the elements do not lie in memory by strides."""
        return False

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        is_coo = self.layout is flambeau.sparse_coo
        if is_coo:
            parts = {"indices": self._indices(), "values": self._values()}
        else:
            outer, inner = parts_of(self.layout)
            parts = {outer: getattr(self, outer)(), inner: getattr(self, inner)()}
            parts["values"] = self._values()
        lines = [f"{name}={part_text(part, name)}" for name, part in parts.items()]
        last = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        last += state_suffixes(self, f"layout={self.layout}")
        return join_suffixes("tensor(" + ",\n       ".join(lines), last, len("tensor("), is_coo)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        parts = (self._indices(), self._values(), tuple(self.shape), self.is_coalesced())
        return _rebuild_sparse, (*parts, self.requires_grad, self.layout)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        check_memo(memo)
        if id(self) in memo:
            found: Tensor = memo[id(self)]
            return found
        if not self.is_leaf:
            raise RuntimeError(
                "deepcopy: only leaf tensors can be copied with their place in the graph, and this "
                "one is the result of an operation; use detach() or clone()"
            )
        parts = (self._indices().clone(), self._values().clone(), tuple(self.shape))
        result = _rebuild_sparse(*parts, self.is_coalesced(), self.requires_grad, self.layout)
        memo[id(self)] = result
        if self.grad is not None:
            result.grad = copy.deepcopy(self.grad, memo)
        return result


# Programs see a tensor of another layout, as everywhere else.
SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"


def _conversion(name: str) -> Callable[..., Tensor]:
    """A method that converts the values as it converts a strided tensor."""
    method: Any = getattr(Tensor, name)

    def convert(self: Any, *args: Any, **keywords: Any) -> Tensor:
        args = tuple(a._values() if isinstance(a, SparseTensor) else a for a in args)
        values = _internal.sparse_values(self)
        converted = method(values, *args, **keywords)
        if converted is values:
            unchanged: Tensor = self
            return unchanged
        places = self._indices().to(converted.device)
        return _sparse(places, converted, list(self.shape), self.is_coalesced(), self.layout)

    convert.__name__ = name
    convert.__doc__ = f"As `{name}` of a strided tensor, of the values."
    return convert


for _name in _CONVERSIONS:
    setattr(SparseTensor, _name, _conversion(_name))


# The numbers of layouts in `_internal`, and the methods that give the places of compressed ones.
_NUMBERS: dict[Any, int] = {_C.sparse_coo: 0, _C.sparse_csr: 1, _C.sparse_csc: 2}


def parts_of(layout: Any) -> tuple[str, str]:
    """The names of the offsets and of the other places of a compressed layout."""
    if layout is _C.sparse_csr:
        return "crow_indices", "col_indices"
    return "ccol_indices", "row_indices"


def _sparse(
    places: Tensor,
    values: Tensor,
    size: list[int],
    coalesced: bool = False,
    layout: Any = _C.sparse_coo,
) -> Tensor:
    """A tensor of places that are in the order of its layout."""
    made: Tensor = _internal.sparse_make(places, values, size, coalesced)
    if layout is not _C.sparse_coo:
        made = _internal.sparse_marked(made, _NUMBERS[layout], coalesced)
    return made


def in_layout(tensor: Tensor, layout: Any) -> Tensor:
    """A sparse tensor in a sparse layout: itself, or coalesced."""
    found: Tensor = _internal.sparse_as(tensor, _NUMBERS[layout])
    return found


def _rebuild_sparse(
    places: Tensor,
    values: Tensor,
    size: tuple[int, ...],
    coalesced: bool,
    requires_grad: bool,
    layout: Any = _C.sparse_coo,
) -> Tensor:
    """A pickled tensor; its places are checked again."""
    made = sparse_coo_tensor(places, values, size, is_coalesced=coalesced)
    if layout is not _C.sparse_coo:
        made = _internal.sparse_marked(made, _NUMBERS[layout], coalesced)
    return made.requires_grad_() if requires_grad else made


def _dim(tensor: Tensor, dim: int, op: str) -> int:
    """A dim counted from the start."""
    if not -tensor.ndim <= dim < tensor.ndim:
        raise IndexError(f"{op}(): dim {dim} is out of range for shape {tuple(tensor.shape)}")
    return dim % tensor.ndim


# Of strided tensors -------------------------------------------------------------------------------


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(self: Tensor) -> Any:
        raise RuntimeError(
            f"Tensor.{name}(): expected a tensor of layout sparse_coo, got a strided one"
        )

    refuse.__name__ = name
    refuse.__doc__ = f"`{name}` of a tensor of layout sparse_coo; others have none."
    return refuse


for _name in ("_indices", "_values", "_nnz", "is_coalesced", "coalesce", "indices", "values"):
    setattr(Tensor, _name, _refusal(_name))


def _no_sparse_dim(self: Tensor) -> int:
    """0: all dims of a strided tensor are dense."""
    return 0


def _all_dense(self: Tensor) -> int:
    """The number of dims: all of a strided tensor are dense."""
    return self.ndim


setattr(Tensor, "sparse_dim", _no_sparse_dim)  # noqa: B010
setattr(Tensor, "dense_dim", _all_dense)  # noqa: B010


# Making them --------------------------------------------------------------------------------------


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor of layout sparse_coo: `values[i]` stands at `indices[:, i]`, all else is zero.

    Args:
        indices: places, a matrix of integers, [sparse dims, n]; a row alone is that of one dim.
            Without `values` it is the size of a tensor that holds nothing.
        values: a value for each place, [n, *dense dims], a tensor or numbers.
        size: the shape; None: the smallest that holds all places.
        dtype: of the values; None: theirs.
        device: where the result lives; None: where the values are.
        requires_grad: whether operations on the result are recorded.
        check_invariants: places are checked in any case; True: whether they are coalesced, too;
            None: what `sparse.check_sparse_tensor_invariants` says.
        is_coalesced: whether no place occurs twice and they are in row-major order; believed
            unless `check_invariants`.
        pin_memory: None or False.

    Raises:
        RuntimeError: if a place is outside the size, or shapes do not agree.
        TypeError: if `layout` is another one.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], size=(2, 3))
        >>> x.to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    op = "sparse_coo_tensor()"
    if layout is not None and layout is not flambeau.sparse_coo:
        raise TypeError(f"{op}: layout must be flambeau.sparse_coo, got {brief(layout)}")
    if pin_memory:
        raise NotImplementedError(f"{op}: pin_memory must be False")
    if values is None:
        return _empty_sparse(indices if size is None else size, dtype, device, requires_grad)
    elements = flambeau.as_tensor(values, dtype=dtype, device=device)
    if elements.is_meta:
        raise NotImplementedError(f"{op}: values must have data; they are on the device meta")
    if elements.ndim == 0:
        elements = elements.reshape(1)
    places = _places(indices, elements.device)
    if size is None:
        size = _least_size(places, elements)
    shape = _extents(size)
    if len(shape) < places.shape[0]:
        raise RuntimeError(
            f"{op}: size {tuple(shape)} has fewer dims than the {places.shape[0]} rows of indices"
        )
    counted = _internal.sparse_flat(places, shape[: places.shape[0]])
    coalesced = bool(is_coalesced)
    if checks(check_invariants) and coalesced and not bool((counted.diff() > 0).all().item()):
        raise RuntimeError(f"{op}: is_coalesced is True, but the indices are not in order")
    result = _sparse(places, elements, shape, coalesced)
    if requires_grad:
        result = result.detach().requires_grad_()
    return result


def _places(indices: Any, device: Any) -> Tensor:
    """Indices as a matrix of int64."""
    places = flambeau.as_tensor(indices)
    if places.numel() == 0:
        places = places.to(flambeau.int64)
    if places.is_floating_point() or places.is_complex() or places.dtype is flambeau.bool:
        raise RuntimeError(f"sparse_coo_tensor(): indices must be integers, got {places.dtype}")
    places = places.to(dtype=flambeau.int64, device=device)
    if places.ndim == 1:
        places = places.reshape(1, -1)
    if places.ndim != 2:
        raise RuntimeError(
            "sparse_coo_tensor(): indices must be a matrix, [sparse dims, n], got shape "
            f"{tuple(places.shape)}"
        )
    return places


def _least_size(places: Tensor, values: Tensor) -> list[int]:
    """The smallest shape that holds all places."""
    if places.shape[1] == 0 and places.shape[0] > 0:
        return [0] * places.shape[0] + list(values.shape[1:])
    extents = places.amax(1).tolist() if places.shape[0] else []
    return [extent + 1 for extent in extents] + list(values.shape[1:])


def _empty_sparse(size: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A sparse tensor that holds nothing."""
    shape = _extents(size)
    values = flambeau.empty(0, dtype=dtype, device=device)
    places = flambeau.empty(len(shape), 0, dtype=flambeau.int64, device=values.device)
    _check_extents(shape)
    result = _sparse(places, values, shape, True)
    return result.requires_grad_() if requires_grad else result


def _extents(size: Any) -> list[int]:
    """A size as numbers, which are not read without end."""
    extents = [int(extent) for extent in islice(size, _MOST_DIMS + 1)]
    if len(extents) > _MOST_DIMS:
        raise RuntimeError(
            f"sparse_coo_tensor(): size has more than {_MOST_DIMS} extents; a tensor has at most "
            f"{_MOST_DIMS} dimensions"
        )
    return extents


def _check_extents(shape: list[int]) -> None:
    if any(extent < 0 for extent in shape):
        raise RuntimeError(f"sparse_coo_tensor(): sizes must not be negative, got {tuple(shape)}")


def place_compressed(places: Tensor, values: Tensor, size: list[int], layout: Any) -> Tensor:
    """A tensor of places that are grouped by row or by column, as the layout says; they are checked
    to be inside the size.
    """
    shape = _extents(size)
    _check_extents(shape)
    ordered = places if layout is _C.sparse_csr else places.flip(0)
    extents = shape[:2] if layout is _C.sparse_csr else shape[1::-1]
    coalesced = bool((_internal.sparse_flat(ordered, extents).diff() > 0).all().item())
    return _sparse(places, values, shape, coalesced, layout)


def spmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a strided one: `mm` by its former name.

    Args:
        mat1, mat2: matrices, of which at least one is sparse.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0], [1]], [2.], size=(2, 2))
        >>> flambeau.spmm(x, flambeau.ones(2, 1))
        tensor([[2.],
                [0.]])
    """
    return flambeau.mm(mat1, mat2)
