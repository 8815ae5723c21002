"""What files may name, and what each name does.

Files name functions and classes as PyTorch does; nothing of PyTorch is imported. A name that stands
in no table here, and that no user allows, is refused.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import flambeau
from flambeau import Tensor
from flambeau._absent_dtypes import ABSENT_DTYPES, ABSENT_QUANTIZED
from flambeau._values import brief
from flambeau.serialization.tensors import Tensors, no_hooks, refused, truth, whole_numbers


class Context(Protocol):
    """What constructors need of the reader that calls them."""

    @property
    def tensors(self) -> Tensors: ...

    def spend(self, work: int) -> None:
        """Counts elements or bytes that are copied."""

    def fill(self, target: dict[Any, Any], pairs: Sequence[tuple[Any, Any]]) -> None:
        """Sets items."""

    def extend(self, target: set[Any], items: Sequence[Any]) -> None:
        """Adds elements."""


Finder = Callable[[str, str], Any]  # of a module and a name in it
Setter = Callable[[Context, Any, Any], None]  # of an object and a state


class Named:
    """A name in a file that is no plain value."""

    name: str

    def as_value(self) -> Any:
        """What stands for the name as part of a result."""
        raise refused(f"{self.name} as a value; it only makes values")


@dataclass(frozen=True)
class StorageType(Named):
    """What the elements of a storage are; None: bytes."""

    name: str
    dtype: Any

    @property
    def itemsize(self) -> int:
        return 1 if self.dtype is None else self.dtype.itemsize


@dataclass(frozen=True)
class Constructor(Named):
    """A name that makes values.

    Args:
        name: as files write it.
        make: called with a Context and the arguments of the file; None: it is only a value.
        value: the class that the name means as a value, where it is one.
        set_state: gives a state to what was made; None: the file may not.
    """

    name: str
    make: Callable[..., Any] | None
    value: Any = None
    set_state: Setter | None = None

    def as_value(self) -> Any:
        return super().as_value() if self.value is None else self.value

    def build(self, context: Context, given: tuple[Any, ...], keywords: Any, new: bool) -> Any:
        if self.make is None or keywords:
            raise refused(f"a call of {self.name}, which files of tensors do not call")
        try:
            return self.make(context, *given)
        except pickle.UnpicklingError as error:
            raise refused(f"{self.name}: {error}") from error
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            reason = str(error).replace(f"{getattr(self.make, '__name__', '')}()", "it")
            raise refused(f"{self.name} of {brief(given)}: {reason}") from error


@dataclass(frozen=True)
class OwnConstructor(Constructor):
    """What a user allows: called as it is."""

    def build(self, context: Context, given: tuple[Any, ...], keywords: Any, new: bool) -> Any:
        given = tuple(v.as_value() if isinstance(v, Named) else v for v in given)
        if not new:
            return self.value(*given, **(keywords or {}))
        if not isinstance(self.value, type):
            raise refused(f"a new object of {self.name}, which is no class")
        return self.value.__new__(self.value, *given, **(keywords or {}))


# Makers: of a context and the arguments that the file gives ---------------------------------------


def _filled(context: Context, target: Any, *given: Any) -> Any:
    if given:
        (content,) = given
        if not isinstance(content, dict | list):
            raise refused(f"pairs are to be a list, and are {brief(content)}")
        context.spend(len(content))
        context.fill(target, list(content.items()) if isinstance(content, dict) else content)
    return target


def _ordered_dict(context: Context, *given: Any) -> Any:
    return _filled(context, OrderedDict(), *given)


def _counter(context: Context, *given: Any) -> Any:
    return _filled(context, Counter(), *given)


def _default_dict(context: Context, factory: Any = None, *given: Any) -> Any:
    if isinstance(factory, Named):
        factory = factory.as_value()
    if factory is not None and factory not in _FACTORIES:
        raise refused(f"{brief(factory)} as what makes missing values")
    return _filled(context, defaultdict(factory), *given)


def _set(context: Context, *given: Any) -> set[Any]:
    made: set[Any] = set()
    if given:
        (content,) = given
        if not isinstance(content, list | tuple):
            raise refused(f"elements are to be a list, and are {brief(content)}")
        context.spend(len(content))
        context.extend(made, content)
    return made


def _frozenset(context: Context, *given: Any) -> frozenset[Any]:
    return frozenset(_set(context, *given))


def _plain_numbers(values: tuple[Any, ...], kinds: tuple[type, ...]) -> tuple[Any, ...]:
    for value in values:
        if type(value) not in kinds or (type(value) is int and value.bit_length() > 64):
            raise refused(f"{brief(value)} is no number that may stand there")
    return values


def _complex(context: Context, *given: Any) -> complex:
    return complex(*_plain_numbers(given, (int, float)))


def _slice(context: Context, *given: Any) -> slice:
    return slice(*_plain_numbers(given, (int, type(None))))


def _range(context: Context, *given: Any) -> range:
    return range(*_plain_numbers(given, (int,)))


def _encoded(context: Context, text: Any, encoding: Any = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise refused(f"bytes of {brief(text)} in encoding {brief(encoding)}")
    context.spend(len(text))
    return text.encode("latin-1")


def _bytearray(context: Context, content: Any = b"", *encoding: Any) -> bytearray:
    if type(content) is str:
        content = _encoded(context, content, *encoding)
    elif encoding or not isinstance(content, bytes | bytearray):
        raise refused(f"a bytearray of {brief(content)}")
    context.spend(len(content))
    return bytearray(content)


def _no_bytes(context: Context) -> bytes:
    """Before protocol 3, b"" is a call without arguments."""
    return b""


def _size(context: Context, values: Any) -> flambeau.Size:
    return flambeau.Size(whole_numbers(values, "sizes"))


def _device(context: Context, kind: Any, *index: Any) -> flambeau.device:
    if type(kind) is not str:
        raise refused(f"a device named {brief(kind)}")
    return flambeau.device(kind, *_plain_numbers(index, (int,)))


def _layout(context: Context, name: Any) -> flambeau.layout:
    layouts = (flambeau.strided, flambeau.sparse_coo, flambeau.sparse_csr, flambeau.sparse_csc)
    known = {str(layout).replace("flambeau", "torch"): layout for layout in layouts}
    if type(name) is not str or name not in known:
        raise refused(f"the layout {brief(name)}")
    return known[name]


def _from_type(context: Context, function: Any, kind: Any, given: Any, state: Any) -> Tensor:
    if not isinstance(function, Constructor) or type(given) is not tuple:
        raise refused(f"a tensor made by {brief(function)}")
    if not isinstance(kind, Constructor):
        raise refused(f"a tensor of type {brief(kind)}")
    return of_type(context, function.build(context, given, None, False), kind.value, state)


def of_type(context: Context, made: Any, kind: Any, state: Any) -> Tensor:
    """A tensor as an instance of a class, with attributes."""
    if not isinstance(made, Tensor) or not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise refused(f"{brief(made)} as a tensor of type {brief(kind)}")
    if isinstance(state, dict) and state.get("_is_buffer") is True and kind is Tensor:
        state = {key: value for key, value in state.items() if key != "_is_buffer"}
        made = flambeau.nn.Buffer(made, persistent=truth(state.get("persistent"), "persistent"))
    elif kind is not Tensor and type(made) is not kind:
        made = Tensor._make_subclass(kind, made.detach(), made.requires_grad)
    set_attributes(context, made, state)
    return made


def _parameter(context: Context, data: Any = None, requires_grad: Any = True) -> Tensor:
    if data is None:
        return flambeau.nn.Parameter(None, truth(requires_grad, "requires_grad"))
    return context.tensors.rebuild_parameter(data, requires_grad)


def _parameter_with_state(
    context: Context, data: Any, requires_grad: Any, hooks: Any, state: Any
) -> Tensor:
    made = context.tensors.rebuild_parameter(data, requires_grad, hooks)
    set_attributes(context, made, state)
    return made


def _reconstructed(context: Context, kind: Any, base: Any, state: Any) -> Any:
    """How protocols 0 and 1 make an object of a user's class."""
    if not isinstance(kind, OwnConstructor) or base is not _OBJECT or state is not None:
        raise refused(f"an object of {brief(kind)}")
    return kind.build(context, (), None, True)


# State of what was made ---------------------------------------------------------------------------


def set_attributes(context: Context, target: Any, state: Any) -> None:
    """Attributes of an object of ours, none of which hides what its class has."""
    if isinstance(state, tuple) and len(state) == 2 and not state[1]:
        state = state[0]
    if state is None:
        return
    if type(state) is not dict:
        raise refused(f"attributes are to be a dict, and are {brief(state)}")
    context.spend(len(state))
    for name in state:
        if type(name) is not str or hasattr(type(target), name):
            raise refused(f"an attribute {brief(name)} of a {type(target).__name__}")
    target.__dict__.update(state)


def set_tensor_state(context: Context, target: Tensor, state: Any) -> None:
    """What files of the first years say of a tensor after making it."""
    if type(state) is not tuple:
        raise refused(f"the state of a tensor is to be a tuple, and is {brief(state)}")
    if isinstance(target, flambeau.nn.Parameter):
        if len(state) == 5:  # data, gradient, hooks, requires_grad, volatile
            data, _, hooks, requires_grad, _ = state
            if not isinstance(data, Tensor):
                raise refused(f"a Parameter of {brief(data)}, which is no tensor")
            target.data = data
        elif len(state) == 3:
            requires_grad, _, hooks = state
        else:
            raise refused(f"the state of a Parameter has 3 or 5 parts, and here {len(state)}")
        no_hooks(hooks)
        target.requires_grad = truth(requires_grad, "requires_grad")
    elif len(state) == 4 and target.numel() == 0 and type(target) is Tensor:
        if context.tensors.dtype_of(state[0]) is not target.dtype:
            raise refused(f"a tensor of {target.dtype} on another storage")
        target.data = context.tensors.rebuild_tensor(*state)
    else:
        raise refused(f"the state of a tensor has 4 parts, and here {len(state)}")


def set_own_state(context: Context, target: Any, state: Any) -> None:
    """What pickle does to an object: of a class that the user allows."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


# The tables ---------------------------------------------------------------------------------------

_FACTORIES = (list, dict, set, frozenset, tuple, int, float, complex, str, bytes, bool, OrderedDict)
_OBJECT = Constructor("builtins.object", None)


def _dtypes() -> dict[str, Any]:
    # Not dir(): that has modules which are imported when they are asked for.
    found = vars(flambeau).items()
    return {name: kind for name, kind in found if isinstance(kind, flambeau.dtype)}


# As the first part of FloatStorage and FloatTensor.
ELEMENTS = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
}


def _python_names() -> dict[str, Any]:
    makers: dict[str, tuple[Callable[..., Any] | None, Any]] = {
        kind.__name__: (None, kind) for kind in _FACTORIES if kind is not OrderedDict
    }
    makers |= {
        "set": (_set, set),
        "frozenset": (_frozenset, frozenset),
        "complex": (_complex, complex),
        "slice": (_slice, slice),
        "range": (_range, range),
        "xrange": (_range, range),
        "bytes": (_no_bytes, bytes),
        "bytearray": (_bytearray, bytearray),
    }
    table: dict[str, Any] = {}
    for module in ("builtins", "__builtin__"):
        for name, (make, value) in makers.items():
            table[f"{module}.{name}"] = Constructor(f"{module}.{name}", make, value)
        table[f"{module}.object"] = _OBJECT
    for kind, make, setter in (
        (OrderedDict, _ordered_dict, set_attributes),
        (Counter, _counter, None),
        (defaultdict, _default_dict, None),
    ):
        name = f"collections.{kind.__name__}"
        table[name] = Constructor(name, make, kind, setter)
    table["_codecs.encode"] = Constructor("_codecs.encode", _encoded)
    for module in ("copyreg", "copy_reg"):
        name = f"{module}._reconstructor"
        table[name] = Constructor(name, _reconstructed, None, set_own_state)
    return table


def _tensor_names() -> dict[str, Any]:
    makers: dict[str, tuple[Callable[..., Any] | None, Any]] = {
        "_utils._rebuild_tensor": (lambda c, *a: c.tensors.rebuild_tensor(*a), None),
        "_utils._rebuild_tensor_v2": (lambda c, *a: c.tensors.rebuild_tensor_v2(*a), None),
        "_utils._rebuild_tensor_v3": (lambda c, *a: c.tensors.rebuild_tensor_v3(*a), None),
        "_utils._rebuild_meta_tensor_no_storage": (lambda c, *a: c.tensors.rebuild_meta(*a), None),
        "_utils._rebuild_sparse_tensor": (lambda c, *a: c.tensors.rebuild_sparse(*a), None),
        "serialization._get_layout": (_layout, None),
        "_utils._rebuild_parameter": (lambda c, *a: c.tensors.rebuild_parameter(*a), None),
        "_utils._rebuild_parameter_with_state": (_parameter_with_state, None),
        "_tensor._rebuild_from_type_v2": (_from_type, None),
        "Tensor": (None, Tensor),
        "Size": (_size, flambeau.Size),
        "device": (_device, flambeau.device),
    }
    table: dict[str, Any] = {
        f"torch.{name}": Constructor(f"torch.{name}", make, value)
        for name, (make, value) in makers.items()
    }
    name = "torch.nn.parameter.Parameter"
    table[name] = Constructor(name, _parameter, flambeau.nn.Parameter, set_tensor_state)
    for name, kind in _dtypes().items():
        table[f"torch.{name}"] = kind
    for prefix, dtype_name in ELEMENTS.items():
        dtype = getattr(flambeau, dtype_name)
        for module in ("torch", "torch.cuda"):
            storage, tensor = f"{module}.{prefix}Storage", f"{module}.{prefix}Tensor"
            table[storage] = StorageType(storage, dtype)
            table[tensor] = Constructor(
                tensor,
                lambda context, dtype=dtype: flambeau.empty(0, dtype=dtype),
                set_state=set_tensor_state,
            )
    for name in ("torch.storage.UntypedStorage", "torch.storage._UntypedStorage"):
        table[name] = StorageType(name, None)
    return table


def _missing_names() -> dict[str, str]:
    """What PyTorch has and this library has not."""
    quantized = (
        *(*ABSENT_QUANTIZED, "per_tensor_affine"),
        *("per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric"),
        *("QInt8Storage", "QInt32Storage", "QUInt8Storage", "QUInt4x2Storage", "QUInt2x4Storage"),
        *("per_channel_affine_float_qparams", "_utils._rebuild_qtensor"),
    )
    reasons = {name: f"the dtype torch.{name}" for name in ABSENT_DTYPES}
    reasons |= dict.fromkeys(quantized, "a quantized tensor")
    reasons["_utils._rebuild_nested_tensor"] = "a nested tensor"
    return {f"torch.{name}": reason for name, reason in reasons.items()}


def _earlier_names() -> dict[str, Any]:
    """Of this library's files of format 1."""

    def tensor(context: Context, *given: Any) -> Tensor:
        storage, dtype, offset, size, stride, requires_grad = given
        return context.tensors.rebuild_tensor_v3(
            storage, offset, size, stride, requires_grad, None, dtype
        )

    def buffer(context: Context, data: Any, persistent: Any) -> Tensor:
        return flambeau.nn.Buffer(data, persistent=truth(persistent, "persistent"))

    makers: dict[str, tuple[Callable[..., Any], Any]] = {
        "serialization._rebuild_tensor": (tensor, None),
        "serialization._rebuild_parameter": (_parameter, None),
        "serialization._rebuild_buffer": (buffer, None),
        "Size": (_size, flambeau.Size),
        "device": (_device, flambeau.device),
    }
    table: dict[str, Any] = {
        f"flambeau.{name}": Constructor(f"flambeau.{name}", make, value)
        for name, (make, value) in makers.items()
    }
    return table | {f"flambeau.{name}": kind for name, kind in _dtypes().items()}


_TABLE: dict[str, Any] = _python_names() | _tensor_names() | _earlier_names()
_MISSING = _missing_names()


def known(name: str) -> Any:
    """What a full name stands for; None where it is not in the tables.

    Raises:
        pickle.UnpicklingError: it is something that this library has not.
    """
    if name in _MISSING:
        raise refused(f"{_MISSING[name]} (the file names {name}), which flambeau does not have")
    return _TABLE.get(name)


def find(module: str, name: str, allowed: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """What a name of a file stands for: a value, or a Named.

    Args:
        module: where the file says that the name is.
        name: of a class or function there.
        allowed: what users allow, by full name.

    Raises:
        pickle.UnpicklingError: the name is not allowed.
    """
    full = f"{module}.{name}"
    found = known(full)
    if found is not None:
        return found
    if full in allowed:
        value = allowed[full]
        return OwnConstructor(full, None, value, set_own_state if isinstance(value, type) else None)
    raise refused(
        f"the file names {full}, which weights_only=True refuses. If you trust the file, allow the "
        "name with flambeau.serialization.add_safe_globals, or load it with weights_only=False "
        "(then the file can run any code)"
    )
