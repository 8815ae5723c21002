"""Operators that are defined by texts, and get their kernels one by one: `library.Library`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import _custom_op
from flambeau._custom_op import CustomOpDef, Kernel, find_op
from flambeau._schema_text import parse_schema
from flambeau._values import brief

__all__ = ["Library", "define", "impl"]

_KINDS = ("DEF", "IMPL", "FRAGMENT")
_HOW = (
    "CPU, CUDA, Meta, CompositeExplicitAutograd, CompositeImplicitAutograd, Autograd, AutogradCPU "
    "or AutogradCUDA"
)


class Library:
    """Operators of a namespace.

    Args:
        ns: the namespace.
        kind: "DEF" or "FRAGMENT" to define operators, "IMPL" to give kernels to those of others.
        dispatch_key: of kernels, unless `impl` says another one; "" is of all devices.

    Example:
        >>> mine = flambeau.library.Library("shown", "DEF")
        >>> _ = mine.define("scaled(Tensor x, float factor=2.0) -> Tensor")
        >>> mine.impl("scaled", lambda x, factor: x * factor, "CPU")
        >>> flambeau.ops.shown.scaled(flambeau.ones(2), 3.0)
        tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Library: kind must be one of {', '.join(_KINDS)}, got {brief(kind)}")
        if not re.fullmatch(r"\w+", ns):
            raise ValueError(f"Library: the namespace must be a name, got {brief(ns)}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator, without kernels.

        Args:
            schema: "name(Tensor x, int n=1) -> Tensor"; "Tensor(a!) x" is written into.
            alias_analysis: accepted: what aliases what is seen when the operator runs.
            tags: accepted as PyTorch has them.

        Returns:
            The name.

        Raises:
            ValueError: the text is no schema; the library gives kernels alone.
        """
        if self.kind == "IMPL":
            raise ValueError("Library.define(): a library of kind IMPL defines no operators")
        name, _, rest = schema.partition("(")
        name = name.strip()
        if not re.fullmatch(r"\w+", name):
            raise ValueError(
                f"Library.define(): expected 'name(...) -> ...', without an overload, got "
                f"{brief(schema)}"
            )
        qualified = f"{self.ns}::{name}"
        types = parse_schema(qualified, f"({rest}", ())
        _custom_op.register(CustomOpDef(qualified, types))
        self._defined.append(qualified)
        return name

    def impl(
        self,
        op_name: Any,
        fn: Kernel,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Gives an operator a kernel.

        Args:
            op_name: its name, or `ops.NAMESPACE.NAME.default`.
            fn: takes what the operator takes.
            dispatch_key: "CPU", "CUDA", "Meta" (of tensors without elements); "" or
                "CompositeExplicitAutograd": all devices. "CompositeImplicitAutograd": a function of
                other operators, which are recorded themselves. "Autograd", "AutogradCPU",
                "AutogradCUDA": called where a gradient is wanted.
            with_keyset, allow_override: accepted: kernels get no key set, and replace others.

        Raises:
            ValueError: there is no such operator, or another key.
        """
        if with_keyset:
            raise NotImplementedError("Library.impl(): kernels get no key set")
        if isinstance(op_name, str):
            op_name = f"{self.ns}::{op_name.rpartition('::')[2]}"
        _register(find_op(op_name), dispatch_key or self.dispatch_key, fn)

    def fallback(self, fn: Kernel, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """NotImplementedError: operators have kernels of their own, and none for all.

        Args:
            fn, dispatch_key, with_keyset: what PyTorch takes.
        """
        raise NotImplementedError("Library.fallback(): an operator has the kernels it was given")

    def _destroy(self) -> None:
        """Takes back the names of what was defined."""
        for name in self._defined:
            _custom_op.forget(name)
        self._defined.clear()


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` whose operators are known inside the block alone."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _register(op: CustomOpDef, key: str, function: Kernel) -> None:
    device = {"": None, "CompositeExplicitAutograd": None, "CPU": "cpu", "CUDA": "cuda"}
    if key in device:
        op._kernels[device[key]] = function
    elif key == "Meta":
        op.register_fake(function)
    elif key == "CompositeImplicitAutograd":
        op.register_composition(function)
    elif key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
        op.register_recording(function)
    else:
        raise ValueError(f"{op.name}: a dispatch key must be {_HOW}, got {brief(key)}")


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Defines an operator by a text, without kernels.

    Args:
        qualname: "namespace::name".
        schema: "(Tensor x, int n=1) -> Tensor".
        lib: whose definition it is; None: it stays.
        tags: accepted as PyTorch has them.

    Raises:
        ValueError: for a name without a namespace, or a text that is no schema.

    Example:
        >>> flambeau.library.define("examples::sine", "(Tensor x) -> Tensor")
        >>> @flambeau.library.impl("examples::sine", "cpu")
        ... def _sine(x):
        ...     return x.sin()
        >>> flambeau.ops.examples.sine(flambeau.zeros(2))
        tensor([0., 0.])
    """
    namespace, separator, name = str(qualname).partition("::")
    if not separator:
        raise ValueError(f"define(): the name must be 'namespace::name', got {brief(qualname)}")
    owner = lib or Library(namespace, "FRAGMENT")
    owner.define(name + schema, tags=tags)


def impl(
    qualname: Any,
    types: str | Iterable[str] = "",
    func: Kernel | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Gives an operator a kernel: `impl("namespace::name", "cpu", function)`, or as a decorator.

    `impl(library, "name", "CPU")` is the same for an operator of a `Library`, by dispatch key.

    Args:
        qualname: the operator's name, or a `Library`.
        types: devices, or "default": all; of a `Library` the operator's name.
        func: the kernel; None: a decorator. Of a `Library` the dispatch key.
        lib: accepted.

    Raises:
        ValueError: there is no such operator.

    Example:
        >>> flambeau.library.define("examples::cosine", "(Tensor x) -> Tensor")
        >>> flambeau.library.impl("examples::cosine", "default", lambda x: x.cos())
        >>> flambeau.ops.examples.cosine(flambeau.zeros(2))
        tensor([1., 1.])
    """
    if isinstance(qualname, Library):
        return _of_library(qualname, types, func or "")
    op = find_op(qualname)
    names = (types,) if isinstance(types, str) else tuple(types)

    def register(function: Kernel) -> Kernel:
        for name in names:
            op._kernels[None if name in ("", "default") else name] = function
        return function

    if func is None:
        return register
    register(func)
    return None


def _of_library(library: Library, name: Any, key: Any) -> Callable[[Kernel], Kernel]:
    def register(function: Kernel) -> Kernel:
        library.impl(name, function, key)
        return function

    return register
