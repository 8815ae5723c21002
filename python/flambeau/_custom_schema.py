"""The types of custom operators: annotations of a Python function, checked at every call."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau import _C
from flambeau._C import Tensor

_PLAIN: dict[Any, str] = {
    Tensor: "Tensor",
    int: "int",
    float: "float",
    bool: "bool",
    complex: "complex",
    str: "str",
    _C.dtype: "dtype",
    _C.device: "device",
}


_UNKNOWN = "unknown"  # which tensors change: it may be all


@dataclass(frozen=True, slots=True)
class Type:
    """What a parameter accepts, or what a result is."""

    words: tuple[str, ...]  # of _PLAIN
    is_list: bool = False
    optional: bool = False
    optional_elements: bool = False

    def __str__(self) -> str:
        text = " | ".join(self.words) + (" | None" if self.optional_elements else "")
        text = f"list[{text}]" if self.is_list else text
        return f"{text} | None" if self.optional else text

    @property
    def has_tensors(self) -> bool:
        return "Tensor" in self.words

    def accepts(self, value: Any) -> bool:
        """Whether a value is of this type; ints count as floats."""
        if value is None:
            return self.optional
        if not self.is_list:
            return self._accepts_one(value)
        if not isinstance(value, list | tuple):
            return False
        return all(self.optional_elements if v is None else self._accepts_one(v) for v in value)

    def _accepts_one(self, value: Any) -> bool:
        for kind, word in _PLAIN.items():
            if word in self.words:
                if kind is int:
                    return isinstance(value, int) and not isinstance(value, bool)
                if kind is float and isinstance(value, int) and not isinstance(value, bool):
                    return True
                if isinstance(value, kind):
                    return True
        return False


@dataclass(frozen=True, slots=True)
class Schema:
    """The parameters and results of a custom operator."""

    signature: inspect.Signature
    parameters: dict[str, Type]
    results: tuple[Type, ...]
    returns_tuple: bool
    mutated: tuple[str, ...]

    def __str__(self) -> str:
        parts = ", ".join(f"{name}: {type_}" for name, type_ in self.parameters.items())
        results = ", ".join(map(str, self.results))
        return f"({parts}) -> {f'tuple[{results}]' if self.returns_tuple else results or None}"

    @property
    def positional(self) -> list[str]:
        """The parameters that are not keyword-only."""
        keyword = inspect.Parameter.KEYWORD_ONLY
        return [n for n, p in self.signature.parameters.items() if p.kind is not keyword]

    def bind(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by parameter, defaults among them, lists as lists.

        Raises:
            TypeError: for arguments that are missing, unknown or of another type.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{op}: {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            type_ = self.parameters[name]
            if not type_.accepts(value):
                raise TypeError(f"{op}: argument '{name}' must be {type_}, got {_describe(value)}")
            if isinstance(value, tuple):
                bound.arguments[name] = list(value)
        return dict(bound.arguments)

    def tensors(self, values: dict[str, Any]) -> list[tuple[str, Tensor]]:
        """(parameter, tensor) of every tensor among arguments."""
        found: list[tuple[str, Tensor]] = []
        for name, type_ in self.parameters.items():
            if type_.has_tensors and values[name] is not None:
                value = values[name] if type_.is_list else [values[name]]
                found += [(name, tensor) for tensor in value if isinstance(tensor, Tensor)]
        return found

    def call_arguments(self, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword-only arguments."""
        positional = self.positional
        keywords = {n: v for n, v in values.items() if n not in positional}
        return [values[name] for name in positional], keywords

    def check_result(self, op: str, result: Any) -> None:
        """TypeError unless a kernel returned what it promised."""
        wanted = str(self).rpartition(" -> ")[2]
        if self.returns_tuple:
            given = isinstance(result, tuple) and len(result) == len(self.results)
            fits = given and all(t.accepts(r) for t, r in zip(self.results, result, strict=True))
        elif self.results:
            fits = self.results[0].accepts(result)
        else:
            fits = result is None
        if not fits:
            raise TypeError(f"{op}: the kernel must return {wanted}, got {_describe(result)}")


def read_schema(op: str, function: Callable[..., Any], mutated: Sequence[str]) -> Schema:
    """The schema of a function, from its annotations.

    Raises:
        ValueError: where annotations are missing or of no use.
    """
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise ValueError(f"{op}: an annotation cannot be read: {error}") from None
    parameters: dict[str, Type] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"{op}: parameters such as '*{name}' are not supported")
        if name not in hints:
            raise ValueError(f"{op}: the parameter '{name}' has no annotation")
        parameters[name] = _read(op, f"the parameter '{name}'", hints[name])
    if "return" not in hints:
        raise ValueError(f"{op}: the result has no annotation; write -> None for no result")
    results, is_tuple = _read_results(op, hints["return"])
    if tuple(mutated) == (_UNKNOWN,) and _UNKNOWN not in parameters:
        mutated = [name for name, type_ in parameters.items() if type_.has_tensors]
    for name in mutated:
        if name not in parameters or not parameters[name].has_tensors:
            raise ValueError(f"{op}: mutates_args names '{name}', which is no tensor parameter")
    return Schema(signature, parameters, results, is_tuple, tuple(mutated))


def _read_results(op: str, hint: Any) -> tuple[tuple[Type, ...], bool]:
    if hint is type(None):
        return (), False
    if typing.get_origin(hint) is tuple and Ellipsis not in typing.get_args(hint):
        return tuple(_read(op, "a result", h) for h in typing.get_args(hint)), True
    found = _read(op, "the result", hint)
    if found.optional or len(found.words) > 1:
        raise ValueError(f"{op}: the result must have one type, got {found}")
    return (found,), False


def _read(op: str, what: str, hint: Any, nested: bool = False) -> Type:
    arguments = _alternatives(hint)
    optional = type(None) in arguments
    rest = [a for a in arguments if a is not type(None)]
    if all(a in _PLAIN for a in rest):
        return Type(tuple(_PLAIN[a] for a in rest), optional=optional)
    if len(rest) == 1 and not nested and typing.get_origin(rest[0]) in (list, Sequence):
        (inner,) = typing.get_args(rest[0])
        element = _read(op, what, inner, nested=True)
        return Type(element.words, True, optional, element.optional)
    raise ValueError(
        f"{op}: {what} has the annotation {hint}, which means nothing here: use "
        f"{', '.join(_PLAIN.values())}, lists and optional ones of these"
    )


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def _describe(value: Any) -> str:
    if isinstance(value, list | tuple):
        inner = ", ".join(sorted({_describe(v) for v in value}))
        return f"{type(value).__name__}[{inner}]"
    return "None" if value is None else type(value).__name__
