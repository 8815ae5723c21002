"""What an object with tensors is, in JSON: the same words for both libraries."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict
from typing import Any


def described(value: Any, library: Any) -> Any:
    """Types, values, geometry and sharing of everything in `value`."""
    return _Describer(library).of(value)


class _Describer:
    def __init__(self, library: Any) -> None:
        self._library = library
        self._storages: dict[tuple[int, int], int] = {}

    def of(self, value: Any) -> Any:
        library = self._library
        if isinstance(value, library.Tensor):
            return self._tensor(value)
        if isinstance(value, library.dtype | library.device):
            return {type(value).__name__: str(value).rpartition(".")[2]}
        if isinstance(value, library.Size):
            return {"Size": list(value)}
        if isinstance(value, list | tuple | set | frozenset):
            items = sorted(value) if isinstance(value, set | frozenset) else value
            return {type(value).__name__: [self.of(item) for item in items]}
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, bytes | bytearray):
            return {type(value).__name__: value.hex()}
        if isinstance(value, complex | float):
            return number(value)
        if value is None or isinstance(value, bool | int | str):
            return value
        if type(value).__name__.endswith("Storage"):
            untyped = value.untyped() if hasattr(value, "untyped") else value
            return {"storage": self._shared(untyped), "bytes": untyped.nbytes()}
        return repr(value)

    def _dict(self, value: dict[Any, Any]) -> Any:
        assert type(value) in (dict, OrderedDict, Counter, defaultdict)
        result: dict[str, Any] = {
            type(value).__name__: [[self.of(key), self.of(item)] for key, item in value.items()]
        }
        if isinstance(value, defaultdict):
            result["factory"] = value.default_factory and value.default_factory.__name__
        if isinstance(value, OrderedDict) and value.__dict__:
            result["attributes"] = self.of(vars(value))
        return result

    def _tensor(self, tensor: Any) -> Any:
        library = self._library
        lazy = library.__name__ == "torch" and (tensor.is_conj() or tensor.is_neg())
        kind = type(tensor).__name__
        if getattr(tensor, "_is_buffer", False) or kind == "Buffer":
            kind = "Buffer"
        result = {
            "tensor": kind,
            "dtype": str(tensor.dtype).rpartition(".")[2],
            "size": list(tensor.shape),
            "stride": list(tensor.stride()),
            "requires_grad": tensor.requires_grad,
            "device": tensor.device.type,
        }
        if tensor.device.type == "meta":
            return result
        if not lazy:
            # A lazy view is one of memory of its own here.
            result["offset"] = tensor.storage_offset()
            result["storage"] = self._shared(tensor.untyped_storage())
        flat = tensor.detach().resolve_conj().resolve_neg() if lazy else tensor.detach()
        result["values"] = _numbers(flat)
        names = {"_is_buffer"}
        attributes = {key: item for key, item in vars(tensor).items() if key not in names}
        if attributes:
            result["attributes"] = self.of(attributes)
        return result

    def _shared(self, storage: Any) -> int:
        """Which of the storages it is, in the order of their first use; -1: an empty one."""
        place = (storage.data_ptr(), storage.nbytes())
        return self._storages.setdefault(place, len(self._storages)) if storage.nbytes() else -1


def _numbers(tensor: Any) -> list[Any]:
    return [number(value) for value in tensor.reshape(-1).tolist()]


def number(value: Any) -> Any:
    """JSON has neither infinities, NaN nor complex numbers."""
    if isinstance(value, complex):
        return {"complex": [number(value.real), number(value.imag)]}
    if isinstance(value, float) and (not math.isfinite(value) or value == 0):
        return {"float": repr(value)}
    return value
