"""Methods of Tensor that are written in Python: text, copies, pickling, and small conveniences.

Importing this module attaches them to the compiled type.
"""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import flambeau
from flambeau import _C
from flambeau._C import Tensor, _overrides
from flambeau._queries import allclose, equal, is_nonzero
from flambeau._tensor_str import tensor_text
from flambeau._values import check_memo


def _repr(self: Tensor) -> str:
    if _overrides.has_torch_function((self,)):
        return str(_overrides.handle_torch_function(Tensor.__repr__, (self,), (self,), {}))
    return tensor_text(self)


def _format(self: Tensor, spec: str) -> str:
    """A tensor of one element formats as its number: f"{loss:.3f}"."""
    if self.ndim == 0 and not self.is_meta and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, Tensor | bool | int | float | complex):
        raise TypeError(
            f"Tensor.__contains__: expected a Tensor or a number, got {type(element).__name__}"
        )
    return bool((self == element).any().item())


def _reversed(self: Tensor) -> Tensor:
    """The rows in reverse order."""
    return self if self.ndim == 0 else self.flip(0)


def _array_wrap(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """NumPy's functions of a tensor give a tensor."""
    return flambeau.as_tensor(array)


# NumPy's functions that would call a method of the same name, whose arguments or results differ.
_REDUCTIONS = frozenset({"min", "max", "amin", "amax", "std", "var", "prod", "sum", "mean"})
_REDUCTIONS |= {"any", "all", "ptp"}


def _array_function(
    self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """NumPy's functions of tensors are those of their arrays. Reductions give tensors, others what
    NumPy gives: tensors where it wraps its results, otherwise arrays.
    """
    import numpy as np

    compute = getattr(func, "_implementation", None)
    if compute is None or not all(issubclass(t, Tensor | np.ndarray) for t in types):
        return NotImplemented
    records = any(isinstance(a, Tensor) and a.requires_grad for a in args)
    is_reduction = func.__name__ in _REDUCTIONS and func.__module__ == "numpy"
    if records or not (is_reduction or func is np.size):
        return compute(*args, **kwargs)
    arrays = [np.asarray(a) if isinstance(a, Tensor) else a for a in args]
    named = {n: np.asarray(a) if isinstance(a, Tensor) else a for n, a in kwargs.items()}
    found = func(*arrays, **named)
    return found if func is np.size or kwargs.get("out") is not None else flambeau.as_tensor(found)


# Copies and pickles -------------------------------------------------------------------------------


def _rebuild_tensor(
    storage: _C.UntypedStorage,
    dtype: _C.dtype,
    offset: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
) -> Tensor:
    """A pickled tensor; tensors that shared memory get one storage again."""
    tensor: Tensor = storage._view(dtype, offset, sizes, strides)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_subclass(cls: type[Tensor], data: Tensor, state: dict[str, Any]) -> Tensor:
    """A pickled instance of a subclass, or a tensor with attributes of its own."""
    if cls is not Tensor:
        data = Tensor._make_subclass(cls, data, data.requires_grad)
    data.__dict__.update(state)
    return data


def _reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    parts = (
        self.untyped_storage(),
        self.dtype,
        self.storage_offset(),
        tuple(self.shape),
        self.stride(),
        self.requires_grad,
    )
    if type(self) is Tensor and not self._has_attributes():
        return _rebuild_tensor, parts
    return _rebuild_subclass, (type(self), _rebuild_tensor(*parts), dict(self.__dict__))


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of the whole storage, shared by all copies of its views, with grad and attributes."""
    check_memo(memo)
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "deepcopy: only leaf tensors can be copied with their place in the graph, and this one "
            "is the result of an operation; use detach() or clone()"
        )
    storage = copy.deepcopy(self.untyped_storage(), memo)
    result: Tensor = storage._view(self.dtype, self.storage_offset(), self.shape, self.stride())
    if type(self) is not Tensor:
        result = Tensor._make_subclass(type(self), result)
    if self.requires_grad:
        result.requires_grad_()
    memo[id(self)] = result
    if self.grad is not None:
        result.grad = copy.deepcopy(self.grad, memo)
    if self._has_attributes():
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


# Conveniences -------------------------------------------------------------------------------------


def _new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: _C.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A new tensor from data, with the dtype and device of this one unless given."""
    return flambeau.tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


def _get_real(self: Tensor) -> Tensor:
    return flambeau.real(self)


def _set_real(self: Tensor, value: Any) -> None:
    _get_real(self)[...] = value


def _get_imag(self: Tensor) -> Tensor:
    return flambeau.imag(self)


def _set_imag(self: Tensor, value: Any) -> None:
    _get_imag(self)[...] = value


def _conjugate_transposed(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"Tensor.H: needs a matrix, got shape {tuple(self.shape)}; use mH for batches"
        )
    return self if self.ndim == 0 else flambeau.adjoint(self)


def _batch_conjugate_transposed(self: Tensor) -> Tensor:
    return flambeau.adjoint(self)


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    """The namespace of the Python array API standard: flambeau.array_api.

    Raises:
        ValueError: that version of the standard is not known.
    """
    from flambeau import array_api

    return array_api.namespace_of(api_version)


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device, as the array API standard calls it.

    Raises:
        ValueError: a stream is given; work is ordered by the streams that are current.
    """
    if stream is not None:
        raise ValueError("to_device(): argument 'stream' must be None")
    return self.to(device)


_MEMBERS: dict[str, Any] = {
    "__array_namespace__": _array_namespace,
    "to_device": _to_device,
    "__repr__": _repr,
    "__format__": _format,
    "__contains__": _contains,
    "__reversed__": _reversed,
    # NumPy leaves arithmetic of an array and a tensor to the tensor.
    "__array_priority__": 1000,
    "__array_wrap__": _array_wrap,
    "__array_function__": _array_function,
    "__reduce_ex__": _reduce_ex,
    "__deepcopy__": _deepcopy,
    "new_tensor": _new_tensor,
    "real": property(_get_real, _set_real, doc="The real parts: a view; a real tensor itself."),
    "imag": property(_get_imag, _set_imag, doc="The imaginary parts: a view."),
    "H": property(_conjugate_transposed, doc="The conjugate transpose of a matrix."),
    "mH": property(
        _batch_conjugate_transposed, doc="The conjugate transpose of the last two dims."
    ),
    # Functions of flambeau that are methods too.
    "allclose": allclose,
    "equal": equal,
    "is_nonzero": is_nonzero,
}

for _name, _member in _MEMBERS.items():
    setattr(Tensor, _name, _member)
