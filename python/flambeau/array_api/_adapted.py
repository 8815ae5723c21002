"""Declared functions as the standard calls them."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import flambeau
from flambeau import Tensor

_KEYWORDS = {"axis": "dim", "axes": "dim", "keepdims": "keepdim"}


def adapted(value: Any, dims: str = "axis") -> Any:
    """A function of Flambeau with the keywords, numbers and promotion of the standard; what is no
    declared function as it is. Its signature and its docstring say `dims` where the declared ones
    say `dim`."""
    if not inspect.isbuiltin(value):
        return value
    takes_tensors = _takes_tensors(value)

    @functools.wraps(value)
    def call(*arguments: Any, **options: Any) -> Any:
        if len(arguments) == 2:
            arguments = same_dtype(*arguments, numbers=takes_tensors)
        return value(*arguments, **{_KEYWORDS.get(k, k): v for k, v in options.items()})

    if (signature := _signature(value)) is not None:
        names = {"dim": dims, "keepdim": "keepdims"}
        for name, ours in names.items():
            call.__doc__ = re.sub(rf"\b{name}: ", f"{ours}: ", call.__doc__ or "")
        renamed = [p.replace(name=names.get(n, n)) for n, p in signature.parameters.items()]
        call.__signature__ = signature.replace(parameters=renamed)  # type: ignore[attr-defined]
    return call


def written_in(*modules: ModuleType) -> dict[str, Any]:
    """The functions that modules define."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


def _takes_tensors(function: Callable[..., Any]) -> bool:
    """Whether the second argument, too, is an array; functions of several forms take numbers."""
    signature = _signature(function)
    return signature is not None and [*signature.parameters][1:2] == ["other"]


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """None: it has several forms."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def same_dtype(x1: Any, x2: Any, *, numbers: bool = True) -> tuple[Any, Any]:
    """Two arguments in the dtype that the standard promotes them to, whatever their ranks are.

    A number becomes an array beside an array, the second one where `numbers` says so. Kinds whose
    mixture the standard leaves open stay as they are.
    """
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        if x1.dtype != x2.dtype and _is_defined(x1.dtype, x2.dtype):
            common = flambeau.promote_types(x1.dtype, x2.dtype)
            return x1.to(common), x2.to(common)
    elif isinstance(x1, Tensor) and numbers and is_number(x2):
        return x1, beside(x2, x1)
    elif isinstance(x2, Tensor) and is_number(x1):
        return beside(x1, x2), x2
    return x1, x2


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex)


def beside(number: complex, x: Tensor) -> Tensor:
    """A number as an array without dims that leaves the dtype of `x` as it is, if it can."""
    made = flambeau.tensor(number, device=x.device)
    if not flambeau.can_cast(made.dtype, x.dtype):
        return made
    if isinstance(number, float | complex):  # the default dtype may hold fewer digits than `x` does
        wide = flambeau.complex128 if isinstance(number, complex) else flambeau.float64
        made = flambeau.tensor(number, dtype=wide, device=x.device)
    return made.to(x.dtype)


def _is_defined(a: flambeau.dtype, b: flambeau.dtype) -> bool:
    def is_inexact(dtype: flambeau.dtype) -> bool:
        return dtype.is_floating_point or dtype.is_complex

    return flambeau.bool not in (a, b) and is_inexact(a) == is_inexact(b)
