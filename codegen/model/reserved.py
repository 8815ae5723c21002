"""Which names may be declared: they become names of C++, of Python and of files."""

from __future__ import annotations

import keyword
import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 80  # some file systems allow 255 bytes in a file's name
_CPP = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "char8_t",
        "char16_t",
        "char32_t",
        "class",
        "compl",
        "concept",
        "const",
        "consteval",
        "constexpr",
        "constinit",
        "const_cast",
        "continue",
        "co_await",
        "co_return",
        "co_yield",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
    ]
)


def is_name(text: str) -> bool:
    """Letters, digits and underscores of ASCII; the first is no digit."""
    return _NAME.fullmatch(text) is not None


def name_problem(name: str) -> str | None:
    """Why nothing can be called so; None where it can."""
    if not is_name(name):
        return f"'{name}' is not a name: letters a-z, digits and underscores make one"
    if keyword.iskeyword(name):
        return f"'{name}' is a keyword of Python"
    if name in _CPP:
        return f"'{name}' is a keyword of C++"
    if name.startswith("__"):
        return f"'{name}' starts with two underscores, which Python and C++ reserve"
    if len(name) > _LONGEST:
        return f"a name of {len(name)} characters; {_LONGEST} are allowed"
    return None
