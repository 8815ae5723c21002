"""Operators as objects, `ops.aten.NAME.OVERLOAD`: what a dispatch mode is asked about.

They are called what PyTorch calls them, as far as it has them. Nothing of this exists before it is
asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

from flambeau import _C, Tensor
from flambeau.func._batching_table import Called, Module, called_in, functions_in

__all__ = ["OpOverload", "OpOverloadPacket"]

_DEFAULT = "default"


class Argument(NamedTuple):
    """A parameter of an operator, as its declaration names it."""

    name: str
    is_write: bool


class Schema(NamedTuple):
    """What an operator is called, and its parameters' names in order."""

    name: str
    overload_name: str
    arguments: list[Argument]

    @property
    def is_mutable(self) -> bool:
        """Whether it writes into an argument."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        overload = f".{self.overload_name}" if self.overload_name else ""
        names = (f"{a.name}(!)" if a.is_write else a.name for a in self.arguments)
        return f"{self.name}{overload}({', '.join(names)})"


class OpOverload:
    """One overload of an operator: a function, known by what it computes. There is one object of
    each, so that `is`, `==` and sets compare them.

    Example:
        >>> exp = flambeau.ops.aten.exp.default
        >>> exp, exp.name(), exp.overloadpacket is flambeau.ops.aten.exp
        (<OpOverload(op='aten.exp', overload='default')>, 'aten::exp', True)
        >>> exp(flambeau.zeros(2))
        tensor([1., 1.])
    """

    def __init__(self, packet: OpOverloadPacket, overload: str, called: Called) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self.called = called
        self._outs = called.aten_with_out.get(overload, [])
        self.namespace = packet.namespace
        self._overloadname = overload
        self.__name__ = self.__qualname__ = f"{packet.__name__}.{overload}"
        self.__module__ = f"flambeau._ops.{packet.namespace}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes it; arguments are those of the function that users call. Several results are
        written into tensors that go by the results' names, or into the tuple `out`.
        """
        if self._outs and "out" not in kwargs:
            missing = [name for name in self._outs if name not in kwargs]
            if missing:
                raise TypeError(f"{self}(): missing keyword argument '{missing[0]}'")
            kwargs["out"] = tuple(kwargs.pop(name) for name in self._outs)
        result = self.called.function(*args, **{**self.called.chosen, **kwargs})
        return tuple(result) if isinstance(result, tuple) else result

    def name(self) -> str:
        """The qualified name: "aten::max.dim", and "aten::max" of the default overload."""
        schema = self._schema
        return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name

    @cached_property
    def _schema(self) -> Schema:
        packet, overload = self.overloadpacket, self._overloadname
        entry, names = self.called.overload.entry, self.called.arguments
        written = names[:1] if packet.is_inplace else entry.get("written", [])
        arguments = [Argument(name, name in written) for name in names]
        arguments += [Argument(name, True) for name in self._outs]
        named = "" if overload == _DEFAULT else overload
        return Schema(packet._qualified_op_name, named, arguments)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.overloadpacket, self._overloadname)


class OpOverloadPacket:
    """All overloads of an operator, as attributes; called, it takes the one that fits.

    Example:
        >>> flambeau.ops.aten.max.overloads()
        ['default', 'other', 'dim', 'unary_out', 'out', 'dim_max']
    """

    def __init__(self, module: Module, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"flambeau._ops.{namespace}"
        self._module = module
        self._functions = _packets(module)[name]
        self._made: dict[str, OpOverload] = {}

    @property
    def is_inplace(self) -> bool:
        """Whether it is the form of an operator that writes into the first argument."""
        return self.__name__.endswith("_")

    def overloads(self) -> list[str]:
        """Their names."""
        return list(self._functions)

    def __getattr__(self, overload: str) -> OpOverload:
        functions: dict[str, str] = self.__dict__.get("_functions", {})
        called = called_in(self._module, functions[overload]) if overload in functions else None
        if called is None:
            raise AttributeError(
                f"{self.__dict__.get('__name__')} has no overload '{overload}', only "
                f"{', '.join(functions)}"
            )
        return self._made.setdefault(overload, OpOverload(self, overload, called))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        first: OpOverload = getattr(self, next(iter(self._functions)))
        return first(*args, **kwargs)

    @property
    def _qualified_op_name(self) -> str:
        return f"{self.namespace}::{self.__name__}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._module is not _C:
            raise TypeError(f"{self} of a package cannot be pickled: its module may be another one")
        return getattr, (aten, self.__name__)


class Aten:
    """`ops.aten`: the operators of the library.

    Example:
        >>> flambeau.ops.aten.add.Tensor(flambeau.ones(2), flambeau.ones(2))
        tensor([2., 2.])
    """

    # Libraries register for these, whose work is done by others.
    _pin_memory = SimpleNamespace(default="aten._pin_memory.default")
    _sparse_addmm = SimpleNamespace(default="aten._sparse_addmm.default")
    _sparse_mm_reduce_impl = SimpleNamespace(default="aten._sparse_mm_reduce_impl.default")

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name not in _packets(_C):
            raise AttributeError(f"flambeau.ops.aten: there is no operator '{name}'")
        return packet(_C, name)

    def __dir__(self) -> list[str]:
        return list(_packets(_C))

    def __reduce__(self) -> str:
        return "aten"


aten = Aten()


@cache
def packet(module: Module, name: str) -> OpOverloadPacket:
    """The overloads of an operator of the library, or of the module of a package."""
    return OpOverloadPacket(module, "aten" if module is _C else module._package, name)


def overload_of(called: Called, values: Sequence[Any]) -> OpOverload:
    """What computes a call of a function of C++ with some values."""
    name = next(
        name
        for name, argument, when in called.aten_overloads
        if not when or _fits(values[called.arguments.index(argument)], when)
    )
    found: OpOverload = getattr(packet(called.overload.module, called.aten), name)
    return found


def _fits(value: Any, when: str) -> bool:
    """Whether an argument is a tensor; or is given, and is true if it is a bool."""
    if when == "tensor":
        return isinstance(value, Tensor)
    return value is not None and value is not False


@cache
def _packets(module: Module) -> dict[str, dict[str, str]]:
    """Operators -> their overloads -> functions of C++."""
    found: dict[str, dict[str, str]] = {}
    named = [(f, c) for f in functions_in(module) if (c := called_in(module, f)) is not None]
    for function, called in named:
        for name, _, _ in called.aten_overloads:
            found.setdefault(called.aten, {}).setdefault(name, function)
    for function, called in named:
        for name in called.aten_with_out:
            found[called.aten].setdefault(name, function)
    return found
