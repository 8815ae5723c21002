"""Values that the tensor-level emitter passes around."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from flambeau.codegen.formula.cpp import ATOM, SIGN
from flambeau.codegen.model.types import BOOL, FLOAT, INT, NONE, SCALAR, ValueType


@dataclass(frozen=True, slots=True)
class Symbol:
    """How a name is spelled in C++, and its type."""

    code: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Value:
    """A C++ expression.

    `items`: of a list literal, which has no code of its own until it is converted.
    """

    code: str
    type: ValueType
    precedence: int
    literal: int | float | bool | complex | None = None
    items: tuple[Value, ...] = ()


class Scope:
    """Names in reach. Inside a branch, a name may be known to hold a value."""

    def __init__(self, symbols: dict[str, Symbol]) -> None:
        self._symbols = symbols

    def get(self, name: str) -> Symbol | None:
        """The symbol of a name, or of metadata such as `self.shape`."""
        return self._symbols.get(name)

    def __setitem__(self, name: str, symbol: Symbol) -> None:
        self._symbols[name] = symbol

    def names(self) -> frozenset[str]:
        """For hints."""
        return frozenset(self._symbols)

    @contextmanager
    def refined(self, symbols: Mapping[str, Symbol]) -> Iterator[None]:
        """Inside the block the names stand for these symbols."""
        before = dict(self._symbols)
        self._symbols.update(symbols)
        try:
            yield
        finally:
            self._symbols.clear()
            self._symbols.update(before)


def none_value() -> Value:
    """`None`; its spelling depends on what it is converted to."""
    return Value("std::nullopt", NONE, ATOM)


def literal_value(number: object) -> Value:
    """A number as C++."""
    match number:
        case bool():
            return Value("true" if number else "false", BOOL, ATOM, number)
        case int():
            code = str(number) if abs(number) < 2**31 else f"int64_t{{{number}}}"
            return Value(code, INT, SIGN if number < 0 else ATOM, number)
        case float():
            code = repr(number)
            if math.isnan(number):
                code = "std::numeric_limits<double>::quiet_NaN()"
            elif math.isinf(number):
                code = ("-" if number < 0 else "") + "std::numeric_limits<double>::infinity()"
            return Value(code, FLOAT, SIGN if code.startswith("-") else ATOM, number)
        case complex():
            code = f"Scalar(::flambeau::complex<double>({number.real!r}, {number.imag!r}))"
            return Value(code, SCALAR, ATOM, number)
    raise AssertionError(f"not a number: {number!r}")
