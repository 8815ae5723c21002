"""Schemas of custom operators as texts: "(Tensor x, int[] dims, *, float? p=None) -> Tensor"."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from typing import Any

from flambeau._custom_schema import Schema, Type

# Words of schemas, and what they accept.
_WORDS: dict[str, tuple[str, ...]] = {
    "Tensor": ("Tensor",),
    "int": ("int",),
    "SymInt": ("int",),
    "float": ("float",),
    "bool": ("bool",),
    "complex": ("complex",),
    "str": ("str",),
    "ScalarType": ("dtype",),
    "Device": ("device",),
    "Scalar": ("int", "float", "bool", "complex"),
}
_PARAMETER = re.compile(
    r"(?P<word>\w+)(\((?P<alias>\w+)(?P<mutated>!?)\))?(?P<element>\?)?(?P<list>\[\d*\])?"
    r"(?P<optional>\?)?\s+(?P<name>\w+)\s*(=\s*(?P<default>.+))?$"
)
_RESULT = re.compile(r"(?P<word>\w+)(\(\w+!?\))?(?P<list>\[\d*\])?(\s+\w+)?$")
_TEXT = re.compile(r"(?:[\w:.]+)?\s*\((?P<parameters>.*)\)\s*->\s*(?P<results>.+?)\s*$", re.DOTALL)


def parse_schema(op: str, text: str, mutated: Sequence[str]) -> Schema:
    """The schema that a text says.

    Args:
        op: the operator's name, for messages.
        text: parameters in parentheses, an arrow, a result or several in parentheses.
        mutated: the names of the parameters whose tensors change; those marked with `(a!)` do too.

    Raises:
        ValueError: the text is none, and where it goes wrong.
    """
    found = _TEXT.match(text)
    if found is None:
        raise ValueError(f"{op}: expected a schema '(...) -> ...', got {text!r}")
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    types: dict[str, Type] = {}
    parameters, changed = [], list(mutated)
    for part in _parts(found["parameters"]):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        parameter = _PARAMETER.match(part)
        if parameter is None or parameter["word"] not in _WORDS:
            raise ValueError(f"{op}: the schema has a parameter {part!r}, which cannot be read")
        name = parameter["name"]
        if parameter["mutated"] and name not in changed:
            changed.append(name)
        in_list = parameter["list"] is not None
        types[name] = Type(
            _WORDS[parameter["word"]],
            in_list,
            bool(parameter["optional"] or (parameter["element"] and not in_list)),
            bool(parameter["element"] and in_list),
        )
        default = _default(op, part, parameter["default"])
        parameters.append(inspect.Parameter(name, kind, default=default))
    unknown = [name for name in changed if name not in types]
    if unknown:
        raise ValueError(f"{op}: mutates_args names '{unknown[0]}', which is no parameter")
    results, is_tuple = _results(op, found["results"])
    return Schema(inspect.Signature(parameters), types, results, is_tuple, tuple(changed))


def _parts(text: str) -> list[str]:
    """What commas outside brackets separate."""
    found = re.split(r",(?![^\[\]]*\])", text)
    return [part.strip() for part in found if part.strip()]


def _default(op: str, part: str, text: str | None) -> Any:
    if text is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        raise ValueError(f"{op}: the default in {part!r} cannot be read") from None


def _results(op: str, text: str) -> tuple[tuple[Type, ...], bool]:
    several = text.startswith("(")
    results = []
    for part in _parts(text[1:-1] if several else text):
        found = _RESULT.match(part)
        if found is None or found["word"] not in _WORDS:
            raise ValueError(f"{op}: the schema has a result {part!r}, which cannot be read")
        results.append(Type(_WORDS[found["word"]], found["list"] is not None))
    return tuple(results), several and bool(results)


_OF_TYPES = {kinds: word for word, kinds in _WORDS.items()}  # "SymInt" for int, as PyTorch writes


def schema_text(schema: Schema) -> str:
    """The text that says a schema, as PyTorch writes it."""
    parts: list[str] = []
    for place, (name, parameter) in enumerate(schema.signature.parameters.items()):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        alias = f"(a{place}!)" if name in schema.mutated else ""
        text = f"{_type_text(schema.parameters[name], alias)} {name}"
        if parameter.default is not parameter.empty:
            value = parameter.default
            shown = f'"{value}"' if isinstance(value, str) else str(value)
            text += f"={shown}"
        parts.append(text)
    results = ", ".join(_type_text(result) for result in schema.results)
    is_one = len(schema.results) == 1 and not schema.returns_tuple
    return f"({', '.join(parts)}) -> {results if is_one else f'({results})'}"


def _type_text(kind: Type, alias: str = "") -> str:
    word = _OF_TYPES[kind.words]
    text = word + alias + "?" * kind.optional_elements + "[]" * kind.is_list
    return text + "?" * kind.optional
