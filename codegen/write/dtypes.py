"""dtypes.yaml -> dtypes.h, the X-macro that native/core/types/dtype.h is made from, and
dtype_names.h, which the Python module alone reads."""

from __future__ import annotations

from flambeau.codegen.model.entries import Declarations, Dtype

_CATEGORIES = {
    "bool": "boolean",
    "unsigned": "unsigned_integer",
    "signed": "signed_integer",
    "limited": "limited_integer",
    "float": "floating",
    "complex": "complex",
}
_DTYPES = "#define FLAMBEAU_FOR_EACH_DTYPE(X)"
_COMPUTED = "#define FLAMBEAU_FOR_EACH_COMPUTED_DTYPE(X)"
_ALIASES = "#define FLAMBEAU_FOR_EACH_DTYPE_ALIAS(X)"
_PROPERTIES = "#define FLAMBEAU_FOR_EACH_DTYPE_PROPERTY(X)"
_ARGUMENTS = "enumerator, C++ type, category, size, python name"
_THE_SAME = "the same of those that kernels compute in"
_WIDTH = 61  # where the backslashes stand, unless a line is longer


def emit_dtypes(declarations: Declarations) -> dict[str, str]:
    """File name -> contents."""
    dtypes = [_entry(dtype) for dtype in declarations.dtypes]
    computed = [_entry(dtype) for dtype in declarations.dtypes if dtype.category != "limited"]
    aliases = [
        f'X({enumerator(dtype)}, "{alias}")'
        for dtype in declarations.dtypes
        for alias in dtype.aliases
    ]
    properties = [
        f'X({enumerator(dtype)}, "{dtype.tensor_type}", {dtype.significant_bits})'
        for dtype in declarations.dtypes
    ]
    return {
        "dtypes.h": _header(
            _macro(_DTYPES, _ARGUMENTS, dtypes), _macro(_COMPUTED, _THE_SAME, computed)
        ),
        "dtype_names.h": _header(
            _macro(_ALIASES, "enumerator, another name in Python", aliases),
            _macro(_PROPERTIES, "enumerator, type of tensors, significant bits", properties),
        ),
    }


def _macro(macro: str, arguments: str, entries: list[str]) -> list[str]:
    lines = [macro, *(f"  {entry}" for entry in entries)]
    continued = [f"{line:<{_WIDTH}} \\" for line in lines[:-1]]
    return [f"/// X({arguments})", *continued, lines[-1], ""]


def _header(*macros: list[str]) -> str:
    return "\n".join([*_HEAD, *(line for macro in macros for line in macro)])


_HEAD = (
    "// Generated from declarations/dtypes.yaml. Do not edit.",
    "#pragma once",
    "",
)


def enumerator(dtype: Dtype) -> str:
    """The name in C++: `bool` is a keyword."""
    return "bool_" if dtype.name == "bool" else dtype.name


def _entry(dtype: Dtype) -> str:
    cpp = f"::{dtype.cpp}" if dtype.cpp.startswith("flambeau::") else dtype.cpp
    cpp = cpp.replace("<flambeau::", "<::flambeau::")
    category = _CATEGORIES[dtype.category]
    return f'X({enumerator(dtype)}, {cpp}, {category}, {dtype.size}, "{dtype.name}")'
