"""Operators from outside the library, at run time.

- `load` compiles operators that are declared in YAML, as the library's are, and imports them.
- `c_function` calls functions of C libraries with tensors.
- `flambeau.ops.aten.NAME.OVERLOAD` is an operator of the library, as dispatch modes are asked
  about it.
- `flambeau.ops.NAMESPACE.NAME` is the operator that `flambeau.library.custom_op` made under that
  name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flambeau.ops._c_function import CFunction, c_function
from flambeau.ops._cache import cache_folder
from flambeau.ops._load import load

if TYPE_CHECKING:
    from flambeau._custom_op import CustomOpDef
    from flambeau.codegen.text.source import DeclarationError
    from flambeau.extension.errors import CompileError

__all__ = [
    "CFunction",
    "CompileError",
    "DeclarationError",
    "c_function",
    "cache_folder",
    "load",
]


class _Namespace:
    """The custom operators of one namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        from flambeau import _custom_op

        try:
            return _custom_op.find_op(f"{self._name}::{name}")
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        from flambeau import _custom_op

        names = (name.split("::") for name in _custom_op.registered_names())
        return [operator for namespace, operator in names if namespace == self._name]


def __getattr__(name: str) -> Any:
    # Both belong to the generator, which is imported when it is needed.
    if name == "DeclarationError":
        from flambeau.codegen.text.source import DeclarationError

        return DeclarationError
    if name == "CompileError":
        from flambeau.extension.errors import CompileError

        return CompileError
    if name.startswith("_"):
        raise AttributeError(f"module 'flambeau.ops' has no attribute '{name}'")
    if name == "aten":
        from flambeau._ops import aten

        return aten
    from flambeau import _custom_op

    if not any(known.startswith(f"{name}::") for known in _custom_op.registered_names()):
        raise AttributeError(f"flambeau.ops: there is no custom operator '{name}::...'")
    return _Namespace(name)
