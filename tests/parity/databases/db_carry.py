"""From PyTorch's values and functions to Flambeau's: numbers go over as NumPy arrays with their
strides, public names by name, functions of PyTorch's tests as their own code with other globals.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from db_public import NoSuch, ours, path_of

import flambeau

MOST_DIMS = 64
_TEST_CODE = "torch.testing._internal"
_HELPERS = "torch.testing._utils"  # look after PyTorch's own state


class Unportable(Exception):
    """A value that only PyTorch has: another layout, another device."""


class Carrier:
    """What is one tensor in PyTorch becomes one tensor of Flambeau; one carrier per sample."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}
        self._memory: dict[tuple[int, Any], Any] = {}

    def __call__(self, value: Any) -> Any:
        """The counterpart of a value, at any depth.

        Raises:
            NoSuch: Flambeau has no such name.
            Unportable: there can be none.
        """
        match value:
            case torch.Tensor():
                if id(value) not in self._made:
                    self._made[id(value)] = value, self._tensor(value)
                return self._made[id(value)][1]
            case torch.dtype() | torch.layout() | torch.memory_format():
                return constant(value)
            case torch.device():
                return flambeau.device(str(value))
            case torch.Size():
                return flambeau.Size(value)
            case torch.Generator():
                return flambeau.Generator().manual_seed(value.initial_seed())
            case dict():
                return {self(key): self(item) for key, item in value.items()}
            case list():
                return [self(item) for item in value]
            case slice():
                return slice(self(value.start), self(value.stop), self(value.step))
            case tuple() if hasattr(value, "_fields"):
                return type(value)(*map(self, value))
            case tuple():
                return tuple(map(self, value))
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                names = [field.name for field in dataclasses.fields(value)]
                return function(type(value))(**{n: self(getattr(value, n)) for n in names})
            case _ if callable(value) or isinstance(value, types.ModuleType):
                return function(value)
        return value

    def _tensor(self, value: Any) -> Any:
        """Views of one memory stay views of one memory."""
        dtype = constant(value.dtype)
        kind = type(value)
        if kind not in (torch.Tensor, torch.nn.Parameter) or value.is_quantized or value.is_nested:
            raise Unportable(kind.__name__)
        if value.layout is torch.sparse_csr:
            return self._sparse(value)
        if value.layout is not torch.strided or value.device.type != "cpu":
            raise Unportable(f"{value.layout} on {value.device}")
        plain = value.detach().resolve_conj().resolve_neg()
        shape, strides, offset = tuple(plain.shape), plain.stride(), plain.storage_offset()
        size = plain.untyped_storage().nbytes() // plain.element_size()
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if plain.dim() > MOST_DIMS or (plain.numel() and last >= size):
            raise Unportable("more dims, or less memory, than a tensor has")
        if plain.is_contiguous() and plain.numel() == size:
            found = _flat(plain, size, dtype).reshape(shape)
        else:
            key = plain.untyped_storage().data_ptr(), plain.dtype
            if key not in self._memory:
                self._memory[key] = _flat(plain, size, dtype)
            found = self._memory[key].as_strided(shape, strides, offset).detach()
        if kind is torch.nn.Parameter:
            found = flambeau.nn.Parameter(found, requires_grad=value.requires_grad)
        elif value.requires_grad:
            found.requires_grad_()
        if value.is_leaf and value.grad is not None:
            found.grad = self(value.grad)
        return found

    def _sparse(self, value: Any) -> Any:
        """The same places and values in the same layout."""
        plain = value.detach()
        parts = self(plain.crow_indices()), self(plain.col_indices()), self(plain.values())
        found = flambeau.sparse_csr_tensor(*parts, tuple(plain.shape))
        return found.requires_grad_() if value.requires_grad else found


def constant(value: Any) -> Any:
    """A dtype, a layout, a memory format, by name."""
    name = str(value).removeprefix("torch.")
    kind = getattr(flambeau, type(value).__name__)
    found = getattr(flambeau, name, None)
    if not isinstance(found, kind):
        raise NoSuch(f"no {type(value).__name__} {name}")
    return found


def _flat(plain: Any, size: int, dtype: Any) -> Any:
    """All elements of a tensor's memory in one of Flambeau's own."""
    flat = torch.as_strided(plain, (size,), (1,), 0)
    bits = flat.view(torch.int16) if plain.dtype is torch.bfloat16 else flat
    found = flambeau.from_numpy(bits.numpy(force=True).copy()).clone()
    return found if found.dtype == dtype else found.view(dtype)


def array_of(tensor: Any) -> Any:
    """A copy of a tensor of either library, sparse ones dense; bfloat16 and halves as float32,
    which holds them.
    """
    library: Any = torch if isinstance(tensor, torch.Tensor) else flambeau
    tensor = tensor.detach()
    if tensor.layout is not library.strided:
        tensor = tensor.to_dense()
    if library is torch and tensor.dtype is torch.complex32:
        tensor = tensor.to(torch.complex64)
    if tensor.dtype in (library.bfloat16, library.float16):
        tensor = tensor.to(library.float32)
    return np.array(tensor.numpy(force=True) if library is torch else tensor.numpy())


# Functions ---------------------------------------------------------------------------------------

_TRANSLATED: dict[int, tuple[Any, Any]] = {}
_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))


def function(value: Any, likely: str = "") -> Any:
    """The counterpart of a function, a class, a module.

    Raises:
        NoSuch: Flambeau has no such name.
    """
    path = path_of(value, likely)
    module = getattr(value, "__module__", None) or getattr(value, "__name__", "")
    if path is not None and (path or value is torch):
        if isinstance(value, types.ModuleType) and not value.__name__.startswith("torch"):
            return value
        return ours(path) if path else flambeau
    if isinstance(value, functools.partial):
        carry = Carrier()
        return functools.partial(
            function(value.func), *carry(value.args), **carry(dict(value.keywords))
        )
    if isinstance(value, torch.nn.Module):
        return _same_module(value)
    if isinstance(value, types.MethodType):
        return types.MethodType(function(value.__func__), Carrier()(value.__self__))
    if isinstance(value, types.FunctionType) and _to_translate(value):
        return _translated(value)
    if isinstance(module, str) and module.startswith("torch.") and module != _HELPERS:
        raise NoSuch(f"no {module}.{getattr(value, '__qualname__', type(value).__name__)}")
    return value


def _same_module(value: Any) -> Any:
    """A module with the same attributes, parameters and submodules, which nobody initialised."""
    kind, carry = function(type(value)), Carrier()
    made = kind.__new__(kind)
    flambeau.nn.Module.__init__(made)
    for name, attribute in vars(value).items():
        if name not in _OF_EVERY_MODULE:
            setattr(made, name, carry(attribute))
    for name, parameter in value._parameters.items():
        made.register_parameter(name, carry(parameter))
    for name, buffer in value._buffers.items():
        made.register_buffer(name, carry(buffer), name not in value._non_persistent_buffers_set)
    for name, child in value._modules.items():
        made.add_module(name, carry(child))
    return made.train(value.training)


def _to_translate(value: types.FunctionType) -> bool:
    """Code of PyTorch's tests, and decorators' code around such."""
    inner = getattr(value, "__wrapped__", value)
    return any(
        (getattr(one, "__module__", None) or "").startswith(_TEST_CODE) for one in (value, inner)
    )


def _translated(value: types.FunctionType) -> Any:
    """The same code; what it takes from outside is Flambeau's."""
    if id(value) in _TRANSLATED:
        return _TRANSLATED[id(value)][1]
    names = dict(value.__globals__)
    cells = tuple(types.CellType() for _ in value.__code__.co_freevars) or None
    made = types.FunctionType(value.__code__, names, value.__name__, None, cells)
    _TRANSLATED[id(value)] = value, made  # before what it refers to, which may be itself
    made.__defaults__ = _or_absent(value.__defaults__)
    made.__kwdefaults__ = _or_absent(value.__kwdefaults__)
    for name in _outside(value.__code__) & names.keys():
        names[name] = _or_absent(names[name])
    for cell, outer in zip(cells or (), value.__closure__ or (), strict=True):
        cell.cell_contents = _or_absent(outer.cell_contents)
    return made


def _outside(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _outside(inner)
    return found


def _or_absent(value: Any) -> Any:
    """What Flambeau lacks is missed when it is used. PyTorch's private helpers stay: they look
    after PyTorch's own state.
    """
    try:
        return Carrier()(value)
    except (NoSuch, Unportable) as error:
        return value if _is_private(value) else _Absent(str(error))


def _is_private(value: Any) -> bool:
    is_module = isinstance(value, types.ModuleType)
    home = value.__name__ if is_module else getattr(value, "__module__", None) or ""
    return home.startswith("torch.") and "._" in home


class _Absent:
    """Raises as soon as it is used."""

    def __init__(self, said: str) -> None:
        self._said = said

    def __getattr__(self, name: str) -> Any:
        raise NoSuch(f"{self._said}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise NoSuch(self._said)


def caller(entry: Any, value: Callable[..., Any]) -> Callable[..., Any]:
    """Flambeau's function for an entry's `op`, which is looked for under the entry's own name."""
    found: Callable[..., Any] = function(value, entry.name)
    return found
