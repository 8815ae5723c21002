"""How declared types look in C++: parameters, stored copies, defaults."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from flambeau.codegen.model.entries import (
    Argument,
    Base,
    Declarations,
    Operator,
    Result,
    Role,
    Type,
)


@dataclass(frozen=True, slots=True)
class CppType:
    """A declared type in C++: what functions take, and what a node or a parameter struct keeps."""

    value: str
    kept: str
    by_reference: bool = False
    optional: bool = False

    @property
    def parameter(self) -> str:
        if self.optional:
            return f"std::optional<{self.value}>"
        return f"const {self.value}&" if self.by_reference else self.value

    @property
    def stored(self) -> str:
        return f"std::optional<{self.kept}>" if self.optional else self.kept


_PLAIN = {
    Base.SCALAR: CppType("Scalar", "Scalar", by_reference=True),
    Base.INT: CppType("int64_t", "int64_t"),
    Base.FLOAT: CppType("double", "double"),
    Base.BOOL: CppType("bool", "bool"),
    Base.STR: CppType("std::string_view", "std::string"),
    Base.MEMORY_FORMAT: CppType("std::string_view", "std::string"),
    Base.DTYPE: CppType("DType", "DType"),
    Base.DEVICE: CppType("Device", "Device"),
    Base.GENERATOR: CppType("Generator*", "Generator*"),
}
_LISTS = {
    Base.INT: CppType("IntList", "Shape"),
    Base.FLOAT: CppType("std::span<const double>", "std::vector<double>"),
    Base.BOOL: CppType("std::span<const bool>", "std::vector<bool>"),
    Base.TENSOR: CppType("TensorList", "std::vector<SavedTensor>"),
}


# Between the operator's and the argument's name in the constant of a list default.
DEFAULT_INFIX = "_default_"


def cpp_type(declared: Type) -> CppType:
    """The C++ spelling of a declared type (see the table in docs/design)."""
    if declared.base is Base.TENSOR and not declared.is_list:
        if declared.or_scalar:
            return CppType("Operand", "SavedOperand", by_reference=True)
        return CppType("Tensor", "SavedTensor", by_reference=True)
    spelled = _LISTS[declared.base] if declared.is_list else _PLAIN[declared.base]
    # Of these, one value stands for none.
    has_none = declared.base in (Base.TENSOR, Base.GENERATOR)
    return replace(spelled, optional=declared.optional and not has_none)


def checked_class(declared: Type) -> str | None:
    """The class of core/geometry/arguments.h that a checked argument becomes; None: it stays."""
    if declared.meaning is not None and declared.meaning.role is Role.DIM:
        return "Dims" if declared.is_list else "Dim"
    return f"Ints<{declared.list_length}>" if _has_fixed_length(declared) else None


def _has_fixed_length(declared: Type) -> bool:
    return declared.base is Base.INT and declared.list_length is not None


def kernel_type(declared: Type) -> str:
    """How a kernel takes an argument: checked, where its type asks for a check."""
    checked = checked_class(declared)
    if checked is None:
        return cpp_type(declared).parameter
    if declared.optional:
        return f"const std::optional<{checked}>&"
    return checked if checked == "Dim" else f"const {checked}&"


def result_type(results: tuple[Result, ...]) -> str:
    """What a function with these visible results returns."""
    if not results:
        return "void"
    spelled = [_one_result(r) for r in results]
    return spelled[0] if len(spelled) == 1 else f"std::tuple<{', '.join(spelled)}>"


def _one_result(result: Result) -> str:
    return "std::vector<Tensor>" if result.is_list else "Tensor"


def parameter_list(arguments: tuple[Argument, ...], defaults: bool, prefix: str = "") -> str:
    """`const Tensor& self, int64_t dim = 0`. Defaults only in the header."""
    parts = []
    # C++ allows a default only when every later parameter has one.
    optional_from = len(arguments)
    while optional_from and arguments[optional_from - 1].default is not None:
        optional_from -= 1
    for index, argument in enumerate(arguments):
        text = f"{cpp_type(argument.type).parameter} {cpp_name(argument.name)}"
        if defaults and index >= optional_from:
            text += f" = {cpp_default(argument, prefix)}"
        parts.append(text)
    return ", ".join(parts)


def cpp_default(argument: Argument, prefix: str) -> str:
    """The declared default as C++; lists refer to a constant of their own."""
    assert argument.default is not None
    declared = argument.type
    if argument.default == "None":
        if declared.base is Base.TENSOR:
            return "TensorList()" if declared.is_list else "Tensor()"
        return "nullptr" if declared.base is Base.GENERATOR else "std::nullopt"
    value = ast.literal_eval(argument.default)
    if declared.is_list and declared.base is Base.INT:
        return (
            f"IntList({prefix}{DEFAULT_INFIX}{argument.name})"
            if value != [] and value != ()
            else "IntList()"
        )
    return cpp_literal(value)


def list_constant(argument: Argument, prefix: str) -> str | None:
    """The constant behind a list default, or None."""
    if argument.default in (None, "None") or not argument.type.is_list:
        return None
    value = ast.literal_eval(str(argument.default))
    values = (
        list(value)
        if isinstance(value, list | tuple)
        else [value] * (argument.type.list_length or 1)
    )
    if not values:
        return None
    numbers = ", ".join(map(str, values))
    return f"inline constexpr int64_t {prefix}{DEFAULT_INFIX}{argument.name}[] = {{{numbers}}};"


def as_one(code: str) -> str:
    """Code as one argument of a macro, for which only parentheses keep commas together."""
    depth = 0
    for character in code:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            return f"({code})"
    return code


def cpp_literal(value: object) -> str:
    """A Python literal as C++."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"int64_t{{{value}}}"
        case float():
            if value != value:
                return "std::numeric_limits<double>::quiet_NaN()"
            if value in (float("inf"), -float("inf")):
                return f"{'-' if value < 0 else ''}std::numeric_limits<double>::infinity()"
            return repr(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    raise ValueError(f"no C++ spelling of the default {value!r}")


_KEYWORDS = """
and auto bool break case char class const continue default delete do double else enum explicit
export extern false float for friend goto if inline int long mutable namespace new not operator or
private protected public register return short signed sizeof static struct switch template this
throw true try typedef union unsigned using virtual void volatile while xor
"""
_RESERVED = frozenset(_KEYWORDS.split())


def cpp_name(name: str) -> str:
    """A declared name as a C++ identifier."""
    return f"{name}_" if name in _RESERVED else name


def class_name(identifier: str) -> str:
    """`MaxDim` for `max_dim`, `BernoulliInplace` for `bernoulli_`."""
    words = identifier.strip("_").split("_")
    name = "".join(word[:1].upper() + word[1:] for word in words if word)
    return f"{name}Inplace" if identifier.endswith("_") else name


def cpp_dtype(name: str) -> str:
    """The enumerator of a dtype: `bool` is a keyword."""
    return "bool_" if name == "bool" else name


# The sets of core/types/dtype.h, by the categories that they hold.
_SETS = {
    "kEveryDType": {"bool", "unsigned", "signed", "limited", "float", "complex"},
    "kComputed": {"bool", "unsigned", "signed", "float", "complex"},
    "kIntegers": {"unsigned", "signed"},
    "kBool": {"bool"},
    "kLimited": {"limited"},
    "kFloats": {"float"},
    "kComplexes": {"complex"},
}


def dtype_set(names: Collection[str], declarations: Declarations) -> str:
    """`kBool | kFloats`: a set of dtypes; `kOnly<DType::uint8>` for those of no whole set."""
    left = dict.fromkeys(d.name for d in declarations.dtypes if d.name in names)
    parts = []
    for spelled, categories in _SETS.items():
        whole = [d.name for d in declarations.dtypes if d.category in categories]
        if whole and left.keys() >= set(whole):
            parts.append(spelled)
            left = {name: None for name in left if name not in whole}
    if left or not parts:
        parts.append(f"kOnly<{', '.join(f'DType::{cpp_dtype(name)}' for name in left)}>")
    return " | ".join(parts)


def declared_in(operator: Operator) -> str:
    """`declarations/pointwise/arithmetic.yaml`: the same wherever the tree lies. Files of packages
    by the path that they were given by, so that messages of compilers lead there.
    """
    if operator.package:
        return operator.span.file
    _, found, below = f"/{operator.span.file}".rpartition("/declarations/")
    return f"declarations/{below if found else Path(operator.span.file).name}"


def origin(operator: Operator) -> str:
    """`declarations/pointwise/arithmetic.yaml (add)`: the source that generated code names. Without
    a line, so that an edit of one entry leaves the code of the others as it is.
    """
    return f"{declared_in(operator)} ({operator.full_name})"


def location(operator: Operator) -> str:
    """`declarations/pointwise/arithmetic.yaml:3`."""
    return f"{declared_in(operator)}:{operator.span.line}"
