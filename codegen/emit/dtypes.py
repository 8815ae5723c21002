"""dtypes.yaml -> dtypes.h: the X-macro that native/core/dtype.h is made from."""

from __future__ import annotations

from flambeau.codegen.model import Declarations, Dtype

_CATEGORIES = {
    "bool": "boolean",
    "unsigned": "unsigned_integer",
    "signed": "signed_integer",
    "float": "floating",
    "complex": "complex",
}
_MACRO = "#define FLAMBEAU_FOR_EACH_DTYPE(X)"
_WIDTH = 61  # where the backslashes stand, unless a line is longer


def emit_dtypes(declarations: Declarations) -> dict[str, str]:
    """File name -> contents."""
    lines = [_MACRO, *(f"  {_entry(dtype)}" for dtype in declarations.dtypes)]
    continued = [f"{line:<{_WIDTH}} \\" for line in lines[:-1]]
    return {"dtypes.h": "\n".join([*_HEAD, *continued, lines[-1], ""])}


_HEAD = (
    "// Generated from declarations/dtypes.yaml. Do not edit.",
    "#pragma once",
    "",
    "/// X(enumerator, C++ type, category, size, python name)",
)


def enumerator(dtype: Dtype) -> str:
    """The name in C++: `bool` is a keyword."""
    return "bool_" if dtype.name == "bool" else dtype.name


def _entry(dtype: Dtype) -> str:
    cpp = f"::{dtype.cpp}" if dtype.cpp.startswith("flambeau::") else dtype.cpp
    cpp = cpp.replace("<flambeau::", "<::flambeau::")
    category = _CATEGORIES[dtype.category]
    return f'X({enumerator(dtype)}, {cpp}, {category}, {dtype.size}, "{dtype.name}")'
