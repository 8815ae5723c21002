"""Dialects of C that scalar formulas are written in: how each spells types, conversions and
literals, and which functions its library has."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """`conversion` and `cast` are templates over {type} and {code}: a value made in a type, and the
    same where overloads must see that very type. `functions`: the names that the dialect's library
    has; None: every function that is declared. Any other is written by its definition.
    """

    name: str
    prefix: str  # of the library's functions
    conversion: str
    cast: str
    long_literal: str  # over {value}
    complex_literal: str | None = None  # over {type}, {real} and {imag}; None: there are none
    text: str | None = None  # over {code}: how text is compared; None: there is none
    types: dict[str, str] = field(default_factory=dict)  # where they differ from those of C++
    functions: frozenset[str] | None = None
    inlined: str = ""  # behind the prefix: of functions that are otherwise called, not inlined
    alone: str = ""  # the same: of those that are called where no choice depends on them

    def spell(self, type_: str) -> str:
        """A type, given as C++ spells it."""
        constant = type_.startswith("const ")
        bare = type_.removeprefix("const ")
        return f"{'const ' if constant else ''}{self.types.get(bare, bare)}"

    def convert(self, type_: str, code: str) -> str:
        return self.conversion.format(type=self.spell(type_.removeprefix("const ")), code=code)

    def cast_to(self, type_: str, code: str) -> str:
        return self.cast.format(type=self.spell(type_.removeprefix("const ")), code=code)

    def has(self, function: str) -> bool:
        """Whether the library has a function."""
        return self.functions is None or function in self.functions

    def literal(self, value: int | float | bool | complex, target: str = "") -> str:
        """A literal, converted to the type `target` where one is given."""
        if isinstance(value, complex):
            if self.complex_literal is None:
                raise ValueError(f"{self.name} has no complex numbers")
            real, imag = repr(value.real), repr(value.imag)
            return self.complex_literal.format(type=target or "N", real=real, imag=imag)
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, int):
            text = repr(value) if abs(value) < 2**31 else self.long_literal.format(value=value)
        elif math.isnan(value):
            text = "NAN"
        elif math.isinf(value):
            text = "INFINITY" if value > 0 else "-INFINITY"
        else:
            text = repr(value)
        return self.convert(target, text) if target else text


CPP = Dialect(
    name="C++",
    prefix="math::",
    conversion="{type}({code})",
    cast="static_cast<{type}>({code})",
    long_literal="int64_t{{{value}}}",
    complex_literal="::flambeau::math::make_complex<{type}>({real}, {imag})",
    text="std::string_view({code})",
    inlined="inlined::",
    alone="alone::",
)


def opencl(functions: frozenset[str]) -> Dialect:
    """OpenCL C with a library of functions called math_NAME. It has neither text nor complex
    numbers; a formula that needs them is an error."""
    return Dialect(
        name="OpenCL C",
        prefix="math_",
        conversion="(({type})({code}))",
        cast="(({type})({code}))",
        long_literal="{value}L",
        types={"int64_t": "long"},
        functions=functions,
    )
