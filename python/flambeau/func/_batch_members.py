"""What members of Tensor, and functions written by hand, do with batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor
from flambeau._torch_function import DisableTorchFunction
from flambeau.func._batch_functions import function_applied
from flambeau.func._batch_gradients import gradients_of_batches
from flambeau.func._batch_indexing import get_item, set_item
from flambeau.func._batched import Level

Member = Callable[[Level, Any, tuple[Any, ...], dict[str, Any]], Any]


def _seen(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is told by shape and dtype."""
    with DisableTorchFunction():
        return func(*args, **kwargs)


def _of_value(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What all slices have in common."""
    return func(level.unwrap(args[0]), *args[1:], **kwargs)


def _in_place(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Changes the tensor and returns it."""
    func(level.unwrap(args[0]), *args[1:], **kwargs)
    return args[0]


def _wrapped(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same of each slice, without a dim as argument."""
    found = func(level.unwrap(args[0]), *args[1:], **kwargs)
    return None if found is None else level.wrap(found)


def _converted(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tensor with another dtype or on another device; another tensor says which."""
    value = level.unwrap(args[0])
    others = [_plain(level, a) for a in args[1:]]
    named = {name: _plain(level, v) for name, v in kwargs.items()}
    found = func(value, *others, **named)
    if level.has(args[0]) and found is value:
        return args[0]
    return level.wrap(found)


def _plain(level: Level, value: Any) -> Any:
    return level.unwrap(value) if level.has(value) else value


def _matrices_transposed(
    level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The last two dims changed, which a slice must have."""
    _seen(level, func, args, kwargs)
    return _wrapped(level, func, args, kwargs)


def _transposed(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The dims in reverse order."""
    value = level.unwrap(args[0])
    return level.wrap(value.permute([0, *reversed(range(1, value.dim()))]))


def _reflected(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`number OP tensor`."""
    tensor, other = args
    if isinstance(other, Tensor):
        other = level.unwrap(other) if level.has(other) else other
    return level.wrap(func(level.unwrap(tensor), other))


def _strides(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In memory, of a slice."""
    found = tuple(level.unwrap(args[0]).stride()[1:])
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    return found if dim is None else found[dim]


def _iterated(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return iter(args[0].unbind())


def _shown(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    value = repr(level.unwrap(args[0]))
    return f"Batched(level={level.depth}, size={level.size}, value={value})"


def _hooked(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The hook is given the gradients of all slices, as a batch."""
    tensor, hook = args

    def run(gradient: Tensor) -> Any:
        changed = hook(level.wrap(gradient))
        return None if changed is None else level.unwrap(changed)

    return func(level.unwrap(tensor), run)


def _set_gradient(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    tensor, gradient = args
    func(level.unwrap(tensor), None if gradient is None else level.unwrap(gradient))


def _refused(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = func.__name__ if func.__name__ != "__get__" else func.__self__.__name__
    raise RuntimeError(
        f"vmap(): {name}() reads elements, which differ from slice to slice: a Python value, or a "
        "branch, cannot depend on them; use functions of tensors, such as where()"
    )


def _no_backward(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise RuntimeError(
        "vmap(): backward() would add the gradients of all slices; use flambeau.func.grad or vjp"
    )


def _methods(member: Member, *names: str) -> dict[str, Member]:
    return {f"Tensor.{name}": member for name in names}


def _accessors(member: Member, *names: str) -> dict[str, Member]:
    return {f"Tensor.{name}.__get__": member for name in names}


MEMBERS: dict[str, Member] = {
    **_accessors(_seen, "shape", "dtype", "ndim", "itemsize", "layout", "is_sparse"),
    **_methods(_seen, "dim", "ndimension", "size", "numel", "nelement", "element_size"),
    **_methods(_seen, "is_floating_point", "is_complex", "is_signed", "__len__", "__format__"),
    **_accessors(_of_value, "device", "is_cpu", "is_cuda", "is_meta", "requires_grad", "is_leaf"),
    **_accessors(_of_value, "retains_grad", "grad_fn", "output_nr", "_version", "grad_dtype"),
    **_methods(_of_value, "get_device", "is_contiguous", "is_inference", "storage_offset"),
    "Tensor.stride": _strides,
    **_methods(_in_place, "requires_grad_", "retain_grad"),
    "Tensor.requires_grad.__set__": _of_value,
    "Tensor.grad.__set__": _set_gradient,
    **_accessors(_wrapped, "data", "grad"),
    "Tensor.mT.__get__": _matrices_transposed,
    **_methods(_converted, "to", "cpu", "cuda", "type_as", "bool", "byte", "char", "short", "int"),
    **_methods(_converted, "long", "half", "bfloat16", "float", "double", "cfloat", "cdouble"),
    "Tensor.T.__get__": _transposed,
    **_methods(_reflected, "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rfloordiv__"),
    **_methods(_reflected, "__rmod__", "__rpow__", "__rlshift__", "__rrshift__"),
    **_methods(_reflected, "__rand__", "__ror__", "__rxor__"),
    "Tensor.__iter__": _iterated,
    "Tensor.__getitem__": get_item,
    "Tensor.__setitem__": set_item,
    **_methods(_refused, "item", "tolist", "numpy", "__array__", "__float__", "__int__"),
    **_methods(_refused, "__bool__", "__index__", "__complex__", "data_ptr", "untyped_storage"),
    "Tensor.register_hook": _hooked,
    "_tensor._repr": _shown,
    "autograd.grad": gradients_of_batches,
    "autograd.backward": _no_backward,
    "Tensor.backward": _no_backward,
    "autograd.function.Function.apply": function_applied,
}

# Arithmetic, which is no operator of its own.
REFLECTED = frozenset(key for key, member in MEMBERS.items() if member is _reflected)
# What is told by shapes, strides, dtypes and the device, also of tensors that are no batches.
TOLD_BY_KIND = frozenset(
    {key for key, member in MEMBERS.items() if member in (_seen, _strides)}
    | {"Tensor.device.__get__", "Tensor.is_cpu.__get__", "Tensor.is_cuda.__get__"}
    | {"Tensor.is_meta.__get__", "Tensor.get_device", "Tensor.is_contiguous"}
)
