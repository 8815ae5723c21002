"""Pickles of objects with tensors, in which everything is named as PyTorch names it."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau import Tensor, UntypedStorage
from flambeau._sparse_tensor import SparseTensor, parts_of
from flambeau.serialization import pickled_names as names
from flambeau.serialization.locations import location_tag
from flambeau.serialization.pickled_names import PICKLED, Name

# A class of the user may have a way of its own.
_OUR_REDUCTIONS = (
    Tensor.__reduce_ex__,
    flambeau.nn.Parameter.__reduce_ex__,
    SparseTensor.__reduce_ex__,
)
_FIRST_WITH_FRAMES = 4  # a protocol


class _NoHooks:
    """An empty OrderedDict, of which a file has one for every tensor."""

    def __reduce__(self) -> Any:
        return OrderedDict, ()


class Pickled:
    """An object as a pickle, and the storages that it refers to.

    Args:
        obj: the object.
        protocol: of the pickle.
    """

    def __init__(self, obj: Any, protocol: int) -> None:
        mixed: set[int] = set()
        while True:
            content, pickler = _written(obj, protocol, mixed)
            if pickler.mixed == mixed:
                break
            # Typed storages have elements of one dtype: the pickle is made again without types.
            mixed = pickler.mixed
        self.content = content
        self.storages = pickler.storages


class _Reference:
    """A storage as tensors of one dtype refer to it."""

    def __init__(self, storage: UntypedStorage, dtype: Any) -> None:
        self.storage = storage
        self.dtype = dtype  # None: bytes


class _Writing:
    """What a pickler does with tensors and storages; it goes before one of Python's two."""

    def __init__(self, file: io.BytesIO, protocol: int, mixed: set[int]) -> None:
        super().__init__(file, protocol)  # type: ignore[call-arg]
        self.storages: list[UntypedStorage] = []
        self.mixed = set(mixed)
        self.named: set[Any] = set()  # of PICKLED
        self._numbers: dict[Any, int] = {}
        self._dtypes: dict[int, Any] = {}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, UntypedStorage):
            obj = _Reference(obj, None)
        if not isinstance(obj, _Reference):
            return None
        storage = obj.storage
        number = self._number(storage)
        dtype = None if number in self.mixed else obj.dtype
        if self._dtypes.setdefault(number, dtype) is not dtype:
            self.mixed.add(number)
        itemsize = 1 if dtype is None else dtype.itemsize
        kind = names.BYTES if dtype is None else names.STORAGES[dtype.name]
        return "storage", kind, str(number), location_tag(storage), storage.nbytes() // itemsize

    def _number(self, storage: UntypedStorage) -> int:
        number = self._numbers.setdefault(_place(storage), len(self.storages))
        if number == len(self.storages):
            self.storages.append(storage)
        return number

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            ours = type(obj).__reduce_ex__ in _OUR_REDUCTIONS
            return self._reduce_tensor(obj) if ours else NotImplemented
        if type(obj) is flambeau.Size:
            return flambeau.Size, (tuple(obj),)
        if type(obj) is flambeau.layout:
            return names.LAYOUT, (str(obj).replace("flambeau", "torch"),)
        if isinstance(obj, Name | type | flambeau.dtype) and obj in PICKLED:
            self.named.add(obj)
            return names.imported(obj)[1]
        return NotImplemented

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        if isinstance(tensor, SparseTensor) and tensor.layout is not flambeau.sparse_coo:
            outer, inner = (getattr(tensor, name)() for name in parts_of(tensor.layout))
            compressed = (outer, inner, tensor._values(), tensor.shape)
            return names.SPARSE_TENSOR, (tensor.layout, compressed)
        if isinstance(tensor, SparseTensor):
            flag = tensor.is_coalesced()
            elements = (tensor._indices(), tensor._values(), tensor.shape, flag)
            return names.SPARSE_TENSOR, (flambeau.sparse_coo, elements)
        kind = type(tensor)
        state = dict(tensor.__dict__) if tensor._has_attributes() else {}
        hooks = _NoHooks()
        if kind is flambeau.nn.Parameter:
            parts = (tensor.detach(), tensor.requires_grad, hooks)
            if state:
                return names.PARAMETER_WITH_STATE, (*parts, state)
            return names.PARAMETER, parts
        function, given = self._tensor_parts(tensor, hooks)
        if kind is flambeau.nn.Buffer:
            return names.FROM_TYPE, (function, Tensor, given, state | {"_is_buffer": True})
        if kind is not Tensor or state:
            return names.FROM_TYPE, (function, kind, given, state)
        return function, given

    def _tensor_parts(self, tensor: Tensor, hooks: _NoHooks) -> tuple[Name, tuple[Any, ...]]:
        dtype, size, stride = tensor.dtype, tuple(tensor.shape), tuple(tensor.stride())
        if tensor.is_meta:
            return names.META_TENSOR, (dtype, size, stride, tensor.requires_grad)
        storage: Any = tensor.untyped_storage()
        typed = dtype.name in names.STORAGES
        if self._number(storage) in self.mixed:
            typed = False
        parts = (
            _Reference(storage, dtype if typed else None),
            tensor.storage_offset(),
            size,
            stride,
            tensor.requires_grad,
            hooks,
        )
        return (names.TENSOR, parts) if typed else (names.TENSOR_WITH_DTYPE, (*parts, dtype))


class _FastPickler(_Writing, pickle.Pickler):
    """In C: names are those of the objects of this library."""


class _SlowPickler(_Writing, pickle._Pickler):
    """In Python: names are those of files."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if not isinstance(obj, Name | type | flambeau.dtype) or obj not in PICKLED:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        pickler: Any = self
        pickler.write(_code(PICKLED[obj]))
        pickler.memoize(obj)


def _written(obj: Any, protocol: int, mixed: set[int]) -> tuple[bytes, _Writing]:
    """A pickle, and what wrote it."""
    content = io.BytesIO()
    if protocol < _FIRST_WITH_FRAMES:
        fast = _FastPickler(content, protocol, mixed)
        fast.dump(obj)
        renamed = _renamed(content.getvalue(), fast.named)
        if renamed is not None:
            return renamed, fast
        content = io.BytesIO()
    slow = _SlowPickler(content, protocol, mixed)
    slow.dump(obj)
    return content.getvalue(), slow


def _renamed(content: bytes, named: Iterable[Any]) -> bytes | None:
    """A pickle with the names of files; None where a text of the user looks like one of ours.

    Each name was written once, and what stands there once is it.
    """
    places = []
    for obj in named:
        code = _code(names.imported(obj))
        if content.count(code) != 1:
            return None
        places.append((content.index(code), len(code), _code(PICKLED[obj])))
    parts, end = [], 0
    for begin, length, code in sorted(places):
        parts += [content[end:begin], code]
        end = begin + length
    return b"".join([*parts, content[end:]])


def _code(name: tuple[str, str]) -> bytes:
    """The opcode of a name."""
    return pickle.GLOBAL + f"{name[0]}\n{name[1]}\n".encode()


def _place(storage: UntypedStorage) -> Any:
    """The same for storages on the same memory."""
    # Those of no bytes have no address of their own.
    if storage.nbytes() == 0:
        return id(storage)
    return storage.data_ptr(), storage.nbytes(), str(storage.device)
