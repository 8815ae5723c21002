"""Tensors from storages, as the functions that files name make them."""

from __future__ import annotations

import math
import pickle
from typing import Any

import flambeau
from flambeau import Tensor, UntypedStorage
from flambeau._values import brief

_MOST_DIMS = 64


def refused(reason: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(reason)


def whole_number(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise refused(f"{what} is to be a whole number, and is {brief(value)}")
    return value


def whole_numbers(values: Any, what: str) -> tuple[int, ...]:
    if not isinstance(values, tuple | list) or len(values) > _MOST_DIMS:
        raise refused(f"{what} are to be at most {_MOST_DIMS} numbers, and are {brief(values)}")
    for value in values:
        if type(value) is not int or value < 0:
            whole_number(value, f"one of {what}")
    return tuple(values)


def truth(value: Any, what: str) -> bool:
    if type(value) is not bool:
        raise refused(f"{what} is to be True or False, and is {brief(value)}")
    return value


def no_hooks(hooks: Any) -> None:
    if hooks:
        raise refused("backward hooks, which are functions; a file of tensors has none")


class Tensors:
    """Makes the tensors of one file; tensors on one storage share it."""

    def __init__(self) -> None:
        self._dtypes: dict[int, Any] = {}  # of the elements of storages, by id
        self._alive: list[Any] = []
        self._resolved: dict[tuple[int, Any, bool, bool], UntypedStorage] = {}

    def add(self, storage: UntypedStorage, dtype: Any) -> UntypedStorage:
        """Notes what a storage of the file has for elements."""
        known = self._dtypes.setdefault(id(storage), dtype)
        if known is not dtype:
            raise refused(f"a storage of {known}, which is one of {dtype} elsewhere")
        self._alive.append(storage)
        return storage

    def dtype_of(self, storage: Any) -> Any:
        if not isinstance(storage, UntypedStorage) or id(storage) not in self._dtypes:
            raise refused(f"a tensor on {brief(storage)}, which is no storage of the file")
        return self._dtypes[id(storage)]

    # Named after the functions of files -----------------------------------------------------------

    def rebuild_tensor(self, storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
        return self.view(storage, self.dtype_of(storage), offset, size, stride)

    def rebuild_tensor_v2(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        metadata: Any = None,
    ) -> Tensor:
        dtype = self.dtype_of(storage)
        return self.rebuild_tensor_v3(
            storage, offset, size, stride, requires_grad, hooks, dtype, metadata
        )

    def rebuild_tensor_v3(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Tensor:
        no_hooks(hooks)
        self.dtype_of(storage)
        if metadata:
            storage = self._resolve(storage, dtype, metadata)
        tensor = self.view(storage, dtype, offset, size, stride)
        return tensor.requires_grad_() if truth(requires_grad, "requires_grad") else tensor

    def rebuild_meta(self, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
        size, stride = whole_numbers(size, "sizes"), whole_numbers(stride, "strides")
        bytes_needed = _extent(0, size, stride) * _checked_dtype(dtype).itemsize
        if bytes_needed >= 1 << 62:
            raise refused(f"a tensor of {bytes_needed} bytes")
        storage = flambeau.empty(bytes_needed, dtype=flambeau.uint8, device="meta")
        tensor = self._checked_view(storage.untyped_storage(), dtype, 0, size, stride)
        return tensor.requires_grad_() if truth(requires_grad, "requires_grad") else tensor

    def rebuild_sparse(self, layout: Any, parts: Any) -> Tensor:
        is_tuple = type(parts) is tuple and len(parts) in (3, 4)
        if layout in (flambeau.sparse_csr, flambeau.sparse_csc) and is_tuple and len(parts) == 4:
            return self._compressed(layout, *parts)
        if layout is not flambeau.sparse_coo or not is_tuple:
            raise refused(f"a sparse tensor of layout {brief(layout)} and {brief(parts)}")
        indices, values, size, *flag = parts
        _check_parts(indices, values)
        coalesced = bool(flag) and flag[0] is not None and truth(flag[0], "is_coalesced")
        shape = whole_numbers(tuple(size) if type(size) is flambeau.Size else size, "sizes")
        return flambeau.sparse_coo_tensor(
            indices, values, shape, is_coalesced=coalesced, check_invariants=True
        )

    def _compressed(self, layout: Any, outer: Any, inner: Any, values: Any, size: Any) -> Tensor:
        _check_parts(outer, inner, values)
        shape = whole_numbers(tuple(size) if type(size) is flambeau.Size else size, "sizes")
        return flambeau.sparse_compressed_tensor(outer, inner, values, shape, layout=layout)

    def rebuild_parameter(self, data: Any, requires_grad: Any, hooks: Any = None) -> Tensor:
        no_hooks(hooks)
        if not isinstance(data, Tensor):
            raise refused(f"a Parameter of {brief(data)}, which is no tensor")
        return flambeau.nn.Parameter(data, truth(requires_grad, "requires_grad"))

    def view(self, storage: Any, dtype: Any, offset: Any, size: Any, stride: Any) -> Tensor:
        self.dtype_of(storage)
        return self._checked_view(
            storage,
            dtype,
            whole_number(offset, "the storage offset"),
            whole_numbers(size, "sizes"),
            whole_numbers(stride, "strides"),
        )

    def _checked_view(
        self,
        storage: UntypedStorage,
        dtype: Any,
        offset: int,
        size: tuple[int, ...],
        stride: tuple[int, ...],
    ) -> Tensor:
        itemsize = _checked_dtype(dtype).itemsize
        if len(size) != len(stride):
            raise refused(f"{len(size)} sizes, and {len(stride)} strides")
        if math.prod(size) >= 1 << 62:
            raise refused(f"a tensor of {math.prod(size)} elements")
        needed = _extent(offset, size, stride)
        if offset >= 1 << 62:
            raise refused(f"a tensor from element {offset} on")
        if needed * itemsize > storage.nbytes():
            raise refused(
                f"a tensor of sizes {size}, strides {stride} from element {offset} on needs "
                f"{needed * itemsize} bytes, and its storage has {storage.nbytes()}"
            )
        return storage._view(dtype, offset, size, stride)

    def _resolve(self, storage: Any, dtype: Any, metadata: Any) -> UntypedStorage:
        """The storage that a lazily conjugated or negated view shows, computed.

        Views here are never lazy; such views of one storage share the computed one, with each other
        and not with the original.
        """
        if type(metadata) is not dict:
            raise refused(f"properties of a tensor are to be a dict, and are {brief(metadata)}")
        others = dict(metadata)
        conj = truth(others.pop("conj", False), "conj")
        neg = truth(others.pop("neg", False), "neg")
        if others:
            raise refused(f"unknown properties of a tensor: {brief(others)}")
        wanted = (id(storage), dtype, conj, neg)
        if not conj and not neg:
            return storage
        if wanted not in self._resolved:
            count = storage.nbytes() // _checked_dtype(dtype).itemsize
            values = storage._view(dtype, 0, (count,), (1,))
            if conj:
                values = flambeau.conj_physical(values)
            if neg:
                values = -values
            resolved = values.untyped_storage()
            self._resolved[wanted] = self.add(resolved, self._dtypes[id(storage)])
        return self._resolved[wanted]


def _checked_dtype(dtype: Any) -> Any:
    if not isinstance(dtype, flambeau.dtype):
        raise refused(f"a tensor of dtype {brief(dtype)}")
    return dtype


def _extent(offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """Elements of a storage that a view needs: none, wherever it is, if it has none."""
    if 0 in size:
        return 0
    last = offset
    for n, step in zip(size, stride, strict=False):
        last += (n - 1) * step
    return last + 1


def _check_parts(*parts: Any) -> None:
    """Those of a sparse tensor."""
    if not all(isinstance(t, Tensor) and t.layout is flambeau.strided for t in parts):
        raise refused("a sparse tensor whose indices and values are no strided tensors")
    if any(t.is_meta for t in parts):
        raise refused("a sparse tensor on the device meta")
