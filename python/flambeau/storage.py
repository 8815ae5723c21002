"""The memory of tensors: as bytes, and as elements of a dtype."""

# mypy: implicit-reexport
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flambeau
from flambeau import _C
from flambeau._C import Tensor, UntypedStorage
from flambeau._shown_name import shown_name
from flambeau._values import brief

__all__ = ["TypedStorage", "UntypedStorage"]


class _StorageType(type):
    """Of FloatStorage and so on: an instance is a TypedStorage of that dtype."""

    _kind: Any = None  # None: of any dtype

    def __instancecheck__(cls, instance: object) -> bool:
        if cls._kind is None:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, TypedStorage) and instance.dtype is cls._kind


class TypedStorage(metaclass=_StorageType):
    """A block of memory as elements of a dtype, shared with the tensors on it.

    Args:
        args: a number of elements, which are not set, or a sequence of them; nothing: none.
        wrap_storage: bytes to look at, in place of args.
        dtype: of the elements; None: the default dtype.
        device: of new elements; None: the default device.

    Example:
        >>> x = flambeau.zeros(2, 2)
        >>> x.storage()[3] = 5
        >>> x[1, 1].item()
        5.0
    """

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if not (dtype is None or isinstance(dtype, flambeau.dtype)):
            raise TypeError(f"TypedStorage(): dtype must be a flambeau.dtype, got {brief(dtype)}")
        kind = type(self)._kind or dtype or flambeau.get_default_dtype()
        if wrap_storage is not None:
            size = wrap_storage.nbytes() // kind.itemsize
            self._elements: Tensor = wrap_storage._view(kind, 0, [size], [1])
        elif len(args) > 1:
            raise TypeError(f"TypedStorage(): expected a size or a sequence, got {brief(args)}")
        elif args and not isinstance(args[0], int):
            self._elements = flambeau.tensor(args[0], dtype=kind, device=device).view(-1)
        else:
            self._elements = flambeau.empty(args[0] if args else 0, dtype=kind, device=device)

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self._elements.dtype

    @property
    def device(self) -> flambeau.device:
        """Where the memory is."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """Whether it lies on a CUDA device."""
        return bool(self._elements.is_cuda)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._elements.untyped_storage()

    def tensor(self) -> Tensor:
        """All elements, as a 1-d tensor on this memory."""
        return self._elements.view(-1)

    def size(self) -> int:
        """The number of elements."""
        return self._elements.numel()

    __len__ = size

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.untyped().nbytes()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._elements.element_size()

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.untyped().data_ptr()

    def __getitem__(self, index: Any) -> Any:
        found = self._elements[index]
        return _typed(found) if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return list(self._elements.tolist())

    def fill_(self, value: Any) -> TypedStorage:
        """Sets all elements; returns self."""
        self._elements.fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Takes over the elements of a storage of the same size; returns self."""
        self._elements.copy_(source._elements)
        return self

    def resize_(self, size: int) -> None:
        """Makes room for `size` elements; those that are there stay. A RuntimeError where that is
        less: tensors would look past the end.
        """
        self.untyped().resize_(size * self.element_size())
        self._elements = TypedStorage(wrap_storage=self.untyped(), dtype=self.dtype).tensor()

    def clone(self) -> TypedStorage:
        """A copy."""
        return _typed(self._elements.clone())

    def type(self, dtype: Any = None) -> Any:
        """Without an argument the name of its type, else the elements as another dtype."""
        if dtype is None:
            return f"{shown_name()}.{self.dtype._tensor_type}Storage"
        return _typed(self._elements.to(dtype))

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """RuntimeError: copies to devices need no pinned memory here."""
        raise RuntimeError("storage.pin_memory(): there is no pinned memory, use it as it is")

    def cpu(self) -> TypedStorage:
        """The elements in the CPU's memory."""
        return _typed(self._elements.cpu())

    def cuda(self, device: Any = None) -> TypedStorage:
        """The elements in a CUDA device's memory."""
        return _typed(self._elements.to("cuda" if device is None else flambeau.device(device)))

    def get_device(self) -> int | None:
        """The index of its device; None: the CPU."""
        return self.device.index

    def is_pinned(self, device: Any = None) -> bool:
        """False: there is no pinned memory."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes can map the memory."""
        return self.untyped().is_shared()

    def share_memory_(self) -> TypedStorage:
        """Moves the memory to where other processes can map it; returns self."""
        self.untyped().share_memory_()
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.data_ptr() == other.data_ptr()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        lines = [f" {value}" for value in self.tolist()] if not self._elements.is_meta else [" ..."]
        kind = f"{shown_name()}.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        return "\n".join([*lines, f"[{kind} of size {self.size()}]"])


def _typed(tensor: Tensor) -> TypedStorage:
    made = TypedStorage(dtype=tensor.dtype)
    made._elements = tensor
    return made


def _conversion(dtype: Any) -> Callable[[TypedStorage], TypedStorage]:
    """The method that converts to a dtype."""

    def convert(self: TypedStorage) -> TypedStorage:
        return _typed(self._elements.to(dtype, copy=True))

    convert.__doc__ = f"A copy of dtype {dtype.name}."
    return convert


# Named as Python's types are, which annotations of the class mean.
_FORMER_NAMES = {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64"}
_FORMER_NAMES |= {"bool": "bool", "bfloat16": "bfloat16"}
_FORMER_NAMES |= {"complex_float": "complex64", "complex_double": "complex128"}
_FORMER_NAMES |= {"half": "float16", "float": "float32", "double": "float64"}
for _name, _dtype in _FORMER_NAMES.items():
    setattr(TypedStorage, _name, _conversion(getattr(_C, _dtype)))


def storage_of(tensor: Tensor) -> TypedStorage:
    """All the memory behind a tensor, as elements of its dtype."""
    return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype)


_EXAMPLE = """A TypedStorage of {1}; arguments as of that.

Example:
    >>> storage = flambeau.{0}Storage([0, 1])
    >>> storage.dtype, len(storage), storage.nbytes() // storage.element_size()
    ({1}, 2, 2)
    >>> isinstance(flambeau.ones(3, dtype={1}).storage(), flambeau.{0}Storage)
    True
"""


def storage_types() -> dict[str, type[TypedStorage]]:
    """FloatStorage and so on, by name."""
    base: Any = TypedStorage
    kinds = {d for d in vars(_C).values() if isinstance(d, _C.dtype)}
    return {
        f"{d._tensor_type}Storage": type(base)(
            f"{d._tensor_type}Storage",
            (base,),
            {"_kind": d, "__module__": "flambeau", "__doc__": _EXAMPLE.format(d._tensor_type, d)},
        )
        for d in kinds
    }
