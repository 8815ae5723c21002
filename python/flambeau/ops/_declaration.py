"""Declarations of C functions: `void saxpy(int64 n, float32 a, const float32 x[n], float32 y[n])`.

function   = result NAME "(" [parameter {"," parameter}] ")"
result     = "void" | number
parameter  = number NAME                                 an argument, or a size
           | ["const"] element "*" ["?"] NAME            a tensor of any number of elements
           | ["const"] element ["?"] NAME "[" extent "]" {"[" extent "]"}
extent     = NAME of an integer parameter | INTEGER
number     = bool, int8 ... int64, uint8 ... uint64, float32, float64, or C's names of them
element    = number | "void"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from flambeau import _C

# C's spellings, each a single word; `unsigned int` and the like have two and are written uint32.
_NUMBERS = {
    "bool": "bool",
    "_Bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "float32": "float32",
    "float64": "float64",
    "int8_t": "int8",
    "int16_t": "int16",
    "int32_t": "int32",
    "int64_t": "int64",
    "uint8_t": "uint8",
    "uint16_t": "uint16",
    "uint32_t": "uint32",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "float": "float32",
    "double": "float64",
}
_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>\d+)|(?P<sign>[()\[\],*?]))")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a C function."""

    name: str
    type: str  # "pointer", or what a number is: "int64"
    element: str | None = None  # of a pointer: a dtype's name; None: any
    writes: bool = False
    nullable: bool = False
    extents: tuple[str | int, ...] | None = None  # of an array


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a C function."""

    name: str
    result: str  # "void", or a number's type
    parameters: tuple[Parameter, ...]


class CDeclarationError(ValueError):
    """A declaration that cannot be read: the message shows the place."""

    def __init__(self, text: str, position: int, message: str) -> None:
        marker = " " * position + "^"
        super().__init__(f"c_function: {message}\n  {text}\n  {marker}")


def parse_declaration(text: str) -> Declaration:
    """Reads one declaration.

    Raises:
        CDeclarationError: with the place of the mistake.
    """
    text = " ".join(text.split()).removesuffix(";").rstrip()
    return _Parser(text).declaration()


class _Parser:
    """Recursive descent over tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def declaration(self) -> Declaration:
        start = self._position
        word = self._name("a result type")
        result = "void" if word == "void" else _NUMBERS.get(word)
        if result is None:
            self._fail(start, f"'{word}' is no type of a result")
        name = self._name("the function's name")
        self._expect("(")
        parameters: list[Parameter] = []
        if not self._accept(")"):
            parameters.append(self._parameter())
            while self._accept(","):
                parameters.append(self._parameter())
            self._expect(")")
        if self._position < len(self._text):
            self._fail(self._position, "the declaration should end here")
        found = Declaration(name, result, tuple(parameters))
        self._check(found)
        return found

    def _parameter(self) -> Parameter:
        start = self._skip()
        is_const = self._accept("const")
        place = self._skip()
        word = self._name("a type")
        pointer = self._accept("*")
        nullable = self._accept("?")
        name = self._name("a parameter's name")
        extents: list[str | int] = []
        while self._accept("["):
            extents.append(self._extent())
            self._expect("]")
        if not pointer and not extents:
            if is_const or nullable or word not in _NUMBERS:
                message = f"'{word}' is no type of a number; a tensor is '{word}* {name}'"
                self._fail(start if is_const else place, message)
            return Parameter(name, _NUMBERS[word])
        if pointer and extents:
            self._fail(place, f"write '{word} {name}[...]' or '{word}* {name}', not both")
        element = None if word == "void" else _NUMBERS.get(word, word)
        if element is not None and not isinstance(getattr(_C, element, None), _C.dtype):
            self._fail(place, f"tensors have no dtype '{word}'")
        shape = tuple(extents) if extents else None
        return Parameter(name, "pointer", element, not is_const, nullable, shape)

    def _extent(self) -> str | int:
        self._skip()
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["sign"]:
            self._fail(self._position, "expected a number or the name of a size")
        self._position = match.end()
        return int(match["number"]) if match["number"] else match["name"]

    def _check(self, found: Declaration) -> None:
        """Names are unique; extents name integers."""
        seen: dict[str, Parameter] = {}
        for parameter in found.parameters:
            if parameter.name in seen:
                place = self._text.rindex(parameter.name)
                self._fail(place, f"there are two parameters '{parameter.name}'")
            seen[parameter.name] = parameter
        for parameter in found.parameters:
            for extent in parameter.extents or ():
                if isinstance(extent, str) and (
                    extent not in seen or "int" not in seen[extent].type[:4]
                ):
                    place = self._text.index(f"[{extent}")
                    self._fail(place + 1, f"'{extent}' is no integer parameter")

    def _skip(self) -> int:
        while self._position < len(self._text) and self._text[self._position].isspace():
            self._position += 1
        return self._position

    def _accept(self, token: str) -> bool:
        self._skip()
        match = _TOKEN.match(self._text, self._position)
        if match is None or match[0].strip() != token:
            return False
        self._position = match.end()
        self._skip()
        return True

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            self._fail(self._skip(), f"expected '{token}'")

    def _name(self, what: str) -> str:
        self._skip()
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["name"] is None:
            self._fail(self._position, f"expected {what}")
        self._position = match.end()
        self._skip()
        return match["name"]

    def _fail(self, position: int, message: str) -> NoReturn:
        raise CDeclarationError(self._text, position, message)
