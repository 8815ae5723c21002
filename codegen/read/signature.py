"""The signature language: `name.overload(Type a, Type b=default, *, Type c=default) -> Type r`.

types     Tensor, Tensor|Scalar, Tensor(mut), Scalar, int, float, bool, str, dtype, device,
          Generator, each with [] or [N] for a list and a final ? where None is allowed
names     `Tensor[] *tensors`, last of those by position: f(a, b) means f([a, b])
bools     bool(True), bool(False): the overload that is meant where the argument is so
          int?[2]: integers of the list may be None, which given_or() replaces
ints      dim, of the first tensor, dim(argument) or dim(argument + 1); index(dim); size; int(any)
results   Tensor r, int64 r, hidden bool r, spare int64 r, Tensor[] r, view(argument) r, (several),
          None

Written by hand, so that each error points at the character and says what was expected there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Base, Meaning, Result, Role, Signature, Type
from flambeau.codegen.model.reserved import name_problem
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostics,
    Note,
    Span,
    Text,
    did_you_mean,
)

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<string>'[^']*'|"[^"]*")
      | (?P<mark>->|[()\[\],.*=?|+-])""",
    re.VERBOSE,
)

_DEEPEST_DEFAULT = 4
_LONGEST_INTEGER = 19  # digits of 2**63
_MOST_NEW_DIMS = 9
_INT_ROLES = (Role.DIM.value, Role.INDEX.value, Role.SIZE.value)
_RESULT_WORDS = ("Tensor", "view", "hidden", "spare", "None")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # name, number, string, mark, end
    text: str
    offset: int


def parse_signature(text: Text, dtypes: Collection[str], diagnostics: Diagnostics) -> Signature:
    """Parse a signature. Syntax errors are raised, the rest is collected in `diagnostics`.

    Args:
        text: the located signature.
        dtypes: names that a result may have for a type, and a dtype argument for a default.
        diagnostics: receives duplicate names, unknown types, defaults of the wrong type, ...
    """
    return _Parser(text, dtypes, diagnostics).signature()


def _tokenize(text: Text) -> list[_Token]:
    tokens: list[_Token] = []
    offset = 0
    while offset < len(text.value):
        match = _TOKEN.match(text.value, offset)
        if match is None:
            character = text.value[offset]
            message = f"unexpected character {character!r} in a signature"
            if character in "'\"":
                message = "string without a closing quote"
            raise DeclarationError.at(text.at(offset), message)
        kind = next(k for k, found in match.groupdict().items() if found is not None)
        if kind != "space":
            tokens.append(_Token(kind, match[0], offset))
        offset = match.end()
    tokens.append(_Token("end", "", len(text.value.rstrip())))
    return tokens


class _Parser:
    def __init__(self, text: Text, dtypes: Collection[str], diagnostics: Diagnostics) -> None:
        self._text = text
        self._dtypes = dtypes
        self._diagnostics = diagnostics
        self._tokens = _tokenize(text)
        self._index = 0

    # Tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._index]

    def _span(self, token: _Token) -> Span:
        return self._text.at(token.offset, max(len(token.text), 1))

    def _next(self) -> _Token:
        token = self._token
        self._index += token.kind != "end"
        return token

    def _accept(self, mark: str) -> bool:
        found = self._token.kind == "mark" and self._token.text == mark
        if found:
            self._index += 1
        return found

    def _fail(self, expected: str, hint: str | None = None, *notes: Note) -> DeclarationError:
        found = f"'{self._token.text}'" if self._token.text else "the end of the signature"
        message = f"expected {expected}, found {found}"
        return DeclarationError.at(self._span(self._token), message, hint, *notes)

    def _expect(self, mark: str, where: str) -> None:
        if not self._accept(mark):
            raise self._fail(f"'{mark}' {where}")

    def _close(self, mark: str, opened: _Token, where: str) -> None:
        if not self._accept(mark):
            note = Note(self._span(opened), f"'{opened.text}' was opened here")
            raise self._fail(f"'{mark}' {where}", None, note)

    def _name(self, what: str) -> _Token:
        if self._token.kind != "name":
            raise self._fail(what)
        token = self._next()
        problem = name_problem(token.text)
        if problem is not None:
            self._error(token, f"{problem}, it cannot be {what}")
        return token

    def _error(self, token: _Token, message: str, hint: str | None = None, *notes: Note) -> None:
        self._diagnostics.error(self._span(token), message, hint, *notes)

    # Grammar

    def signature(self) -> Signature:
        name = self._name("an operator name")
        overload = self._name("an overload name").text if self._accept(".") else ""
        opened = self._token
        self._expect("(", "after the operator's name")
        arguments = self._arguments(opened)
        self._check_meanings(arguments)
        self._expect("->", "and the results after the arguments")
        results = self._results(arguments)
        if self._token.kind != "end":
            raise self._fail("the end of the signature")
        kept = tuple(a for a in arguments if a.type.only is None)
        choices = tuple(
            (sum(b.type.only is None for b in arguments[:i]), a)
            for i, a in enumerate(arguments)
            if a.type.only is not None
        )
        return Signature(name.text, overload, kept, results, self._text.span, choices)

    def _arguments(self, opened: _Token) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        keyword_only = False
        while not self._accept(")"):
            if arguments or keyword_only:
                if self._token.text != ",":
                    self._close(")", opened, "or ',' after an argument")
                self._next()
            star = self._token
            if self._accept("*"):
                if keyword_only:
                    self._error(star, "a second '*': keyword-only arguments have begun already")
                if self._token.text != ",":
                    raise self._fail("',' and keyword-only arguments after '*'")
                keyword_only = True
                continue
            argument = self._argument(keyword_only, arguments)
            spread = next((a for a in arguments if a.spread), None)
            if spread is not None and not keyword_only:
                message = f"'{argument.name}' follows '*{spread.name}', which takes what is left"
                hint = "put '*' before it: then it is given by name"
                self._diagnostics.error(argument.span, message, hint)
            arguments.append(argument)
        return tuple(arguments)

    def _argument(self, keyword_only: bool, before: list[Argument]) -> Argument:
        if self._token.kind != "name":
            raise self._fail("an argument, as in `dim dim=0`")
        first = self._token
        type_ = self._type()
        star = self._token
        spread = self._accept("*")
        if spread and (keyword_only or (type_ is not None and not type_.is_tensor_list)):
            self._error(star, "only a list of tensors that is given by position takes a '*'")
        name = self._name(f"the name of the {first.text} argument")
        default = self._default(type_) if self._accept("=") else None
        first_one = next((a for a in before if a.name == name.text), None)
        if first_one is not None:
            note = Note(first_one.span, "first declared here")
            self._error(name, f"duplicate argument '{name.text}'", None, note)
        elif default is None and not keyword_only and before and before[-1].default is not None:
            message = f"required argument '{name.text}' follows '{before[-1].name}', which has a "
            self._error(name, message + "default", "give it a default or move it forward")
        # An unknown type has been reported; a tensor stands in for it, and nothing is built.
        type_ = type_ or Type(Base.TENSOR)
        return Argument(name.text, type_, default, keyword_only, "", self._span(name), spread)

    def _check_meanings(self, arguments: tuple[Argument, ...]) -> None:
        """A dim is one of a tensor or of a list of ints; an index lies along a dim."""
        ints = {a.name: a.type for a in arguments if a.type.base is Base.INT}
        tensors = {a.name: a.type for a in arguments if a.type.base is Base.TENSOR}
        for argument in arguments:
            meaning = argument.type.meaning
            if meaning is None or meaning.role not in (Role.DIM, Role.INDEX):
                continue
            if meaning.role is Role.INDEX:
                what = "a dim among the arguments"
                known = {n for n, t in ints.items() if t.meaning and t.meaning.role is Role.DIM}
            else:
                what = "a tensor or a list of ints among the arguments"
                known = tensors.keys() | {n for n, t in ints.items() if t.is_list}
            if meaning.of is None and not tensors:
                message = f"'{argument.name}' is a dim, but there is no tensor that it is of"
                self._diagnostics.error(argument.span, message, "write dim(ARGUMENT)")
            elif meaning.of is not None and meaning.of not in known:
                message = f"'{meaning.of}' is not {what}"
                hint = did_you_mean(meaning.of, sorted(known))
                self._diagnostics.error(argument.span, message, hint)

    def _meaning(self, token: _Token) -> Meaning | None:
        """What follows `dim`, `index`, `size` or `int`; None for a plain int."""
        if token.text == Base.INT.value:
            opened = self._token
            if not self._accept("("):
                return None
            self._word(Role.ANY.value, "in parentheses after 'int'")
            self._close(")", opened, "after '(any'")
            return Meaning(Role.ANY)
        role = Role(token.text)
        opened = self._token
        if role is Role.SIZE or not self._accept("("):
            if role is Role.INDEX:
                raise self._fail("'(' and the dim that the index is along")
            return Meaning(role)
        of = self._name("an argument").text
        beyond = 0
        if role is Role.DIM and self._accept("+"):
            number = self._next()
            beyond = int(number.text) if number.kind == "number" and number.text.isdigit() else 0
            if not 1 <= beyond <= _MOST_NEW_DIMS:
                self._error(number, f"a result has from 1 to {_MOST_NEW_DIMS} dims more")
        self._close(")", opened, "after the argument")
        return Meaning(role, of, beyond)

    def _type(self) -> Type | None:
        """A type; None when its name is unknown, which has been reported."""
        token = self._next()
        names = {base.value: base for base in Base} | dict.fromkeys(_INT_ROLES, Base.INT)
        base = names.get(token.text)
        if base is None:
            self._error(token, f"unknown type '{token.text}'", _type_hint(token.text, names))
        meaning = self._meaning(token) if base is Base.INT else None
        or_scalar = mutable = False
        only = self._only() if base is Base.BOOL else None
        while (qualifier := self._token).text in ("|", "("):
            self._next()
            if qualifier.text == "|":
                self._word("Scalar", "after 'Tensor|'")
                or_scalar = True
            else:
                self._word("mut", "in parentheses after a type")
                self._close(")", qualifier, "after '(mut'")
                mutable = True
            if base is not Base.TENSOR:
                written = "|Scalar" if qualifier.text == "|" else "(mut)"
                self._error(qualifier, f"only a Tensor can be '{written}'")
                base = None
        none_items = base is Base.INT and meaning is None and self._none_items()
        is_list, length = self._list_suffix()
        optional = self._accept("?")
        if optional and self._token.text == "[":
            hint = "write `Tensor[]?`: the '?' stands last"
            raise self._fail("an argument's name after '?'", hint)
        if base is None:
            return None
        return Type(base, or_scalar, is_list, length, optional, mutable, meaning, none_items, only)

    def _none_items(self) -> bool:
        """Whether `?` stands before the length of a list, as in `int?[2]`."""
        following = self._tokens[self._index + 1 : self._index + 3]
        found = self._token.text == "?" and following[0].text == "["
        return found and following[1].kind == "number" and self._accept("?")

    def _only(self) -> bool | None:
        """What follows `bool`: the one value that is taken."""
        opened = self._token
        if not self._accept("("):
            return None
        value = self._next()
        if value.text not in ("True", "False"):
            self._error(value, "a bool is True or False")
        self._close(")", opened, "after the value")
        return value.text == "True"

    def _word(self, word: str, where: str) -> None:
        if self._token.text != word:
            raise self._fail(f"'{word}' {where}")
        self._next()

    def _list_suffix(self) -> tuple[bool, int | None]:
        opened = self._token
        if not self._accept("["):
            return False, None
        length: int | None = None
        if self._token.kind == "number":
            number = self._next()
            length = int(number.text) if re.fullmatch("[1-9][0-9]?", number.text) else 0
            if length == 0:
                self._error(number, f"a list's length is from 1 to 99, not {number.text}")
                length = 1
        self._close("]", opened, "after a list's length")
        return True, length

    # Defaults

    def _default(self, type_: Type | None) -> str:
        first = self._token
        value = self._literal()
        last = self._tokens[self._index - 1]
        source = self._text.value[first.offset : last.offset + len(last.text)]
        if type_ is not None and not _fits(value, type_, self._dtypes):
            span = self._text.at(first.offset, len(source))
            message = f"default {source} is not of type {type_}"
            self._diagnostics.error(span, message, _default_hint(value, type_))
        return source

    def _literal(self, depth: int = 0) -> object:
        if depth > _DEEPEST_DEFAULT:
            raise self._fail("a default that is nested less deeply")
        token = self._next()
        if token.kind == "number":
            return self._number(token)
        if token.text in ("-", "+") and self._token.kind in ("number", "name"):
            signed = self._token
            value = self._literal(depth + 1)
            if not isinstance(value, int | float) or isinstance(value, bool):
                message = f"expected a number after the sign, found '{signed.text}'"
                raise DeclarationError.at(self._span(signed), message)
            return -value if token.text == "-" else value
        if token.kind == "string":
            return token.text[1:-1]
        if token.kind == "name":
            return _WORDS.get(token.text, _Word(token.text))
        if token.text == "[":
            return self._literal_list(token, depth + 1)
        self._index -= token.kind != "end"
        raise self._fail("a default: a number, string, list, True, False, None or a dtype")

    def _number(self, token: _Token) -> int | float:
        if not token.text.isdigit():
            if math.isinf(float(token.text)):
                self._error(token, f"{token.text} is too large for a float", "write inf")
            return float(token.text)
        if len(token.text) > 1 and token.text.startswith("0"):
            self._error(token, f"{token.text} has leading zeros, which Python refuses")
        elif len(token.text) > _LONGEST_INTEGER or int(token.text) >= 2**63:
            self._error(token, "an integer of more than 64 bits")
            return 0
        return int(token.text[:_LONGEST_INTEGER])

    def _literal_list(self, opened: _Token, depth: int) -> list[object]:
        items: list[object] = []
        while not self._accept("]"):
            if items:
                if self._token.text != ",":
                    self._close("]", opened, "or ',' in a list")
                self._next()
            items.append(self._literal(depth))
        return items

    # Results

    def _results(self, arguments: tuple[Argument, ...]) -> tuple[Result, ...]:
        if self._token.text == "None":
            self._next()
            return ()
        opened = self._token
        if not self._accept("("):
            return (self._result(arguments, []),)
        results: list[Result] = []
        while not self._accept(")"):
            if results:
                if self._token.text != ",":
                    self._close(")", opened, "or ',' after a result")
                self._next()
            results.append(self._result(arguments, results))
        if not results:
            self._error(opened, "no results between the parentheses", "write `-> None`")
        return tuple(results)

    def _result(self, arguments: tuple[Argument, ...], before: list[Result]) -> Result:
        word = self._token.text
        if word in ("hidden", "spare"):
            self._next()
        if self._token.kind != "name":
            raise self._fail("a result, as in `Tensor result`")
        kind = self._next()
        dtype, view_of = None, None
        if kind.text == "view":
            view_of = self._viewed(arguments)
        elif kind.text in self._dtypes:
            dtype = kind.text
        elif kind.text != "Tensor":
            hint = did_you_mean(kind.text, [*_RESULT_WORDS, *self._dtypes])
            self._error(kind, f"unknown result type '{kind.text}'", hint)
        is_list, length = self._list_suffix()
        if length is not None:
            self._error(kind, "a list of results has no fixed length", "write `Tensor[] results`")
        name = self._name("the name of the result, as in `Tensor result`")
        if name.text in [r.name for r in before]:
            self._error(name, f"duplicate result '{name.text}'")
        argument = next((a for a in arguments if a.name == name.text), None)
        if argument is not None:
            note = Note(argument.span, "the argument is declared here")
            self._error(name, f"the result '{name.text}' is called like an argument", None, note)
        spare = word == "spare"
        return Result(name.text, is_list, dtype, view_of, spare or word == "hidden", spare)

    def _viewed(self, arguments: tuple[Argument, ...]) -> str:
        opened = self._token
        self._expect("(", "and the viewed argument after 'view'")
        name = self._name("the argument that the result is a view of")
        self._close(")", opened, "after the viewed argument")
        tensors = [a.name for a in arguments if a.type.is_tensor]
        if name.text not in tensors:
            hint = did_you_mean(name.text, tensors)
            self._error(name, f"view of '{name.text}', which is not a tensor argument", hint)
        return name.text


@dataclass(frozen=True, slots=True)
class _Word:
    """A bare name as a default: a dtype."""

    name: str


_WORDS: dict[str, object] = {
    "None": None,
    "True": True,
    "False": False,
    "inf": float("inf"),
    "nan": float("nan"),
}
_FITS: dict[Base, Callable[[object], bool]] = {
    Base.TENSOR: lambda value: False,
    Base.SCALAR: lambda value: isinstance(value, int | float),
    Base.INT: lambda value: isinstance(value, int) and not isinstance(value, bool),
    Base.FLOAT: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    Base.BOOL: lambda value: isinstance(value, bool),
    Base.STR: lambda value: isinstance(value, str),
    Base.MEMORY_FORMAT: lambda value: False,
    Base.DEVICE: lambda value: isinstance(value, str),
    Base.GENERATOR: lambda value: False,
}


def _fits(value: object, type_: Type, dtypes: Collection[str]) -> bool:
    if value is None:
        return type_.optional
    if type_.is_list:
        if isinstance(value, list):
            element = Type(type_.base, type_.or_scalar)
            right_length = type_.list_length in (None, len(value))
            return right_length and all(_fits(item, element, dtypes) for item in value)
        return type_.list_length is not None and _FITS[type_.base](value)
    if type_.base is Base.DTYPE:
        return isinstance(value, _Word) and value.name in dtypes
    if type_.or_scalar and _FITS[Base.SCALAR](value):
        return True
    return _FITS[type_.base](value)


def _default_hint(value: object, type_: Type) -> str | None:
    if value is None:
        return f"write `{type_}?` to allow None"
    if isinstance(value, _Word) and type_.base is Base.STR:
        return f"quote it: '{value.name}'"
    if isinstance(value, _Word):
        return did_you_mean(value.name, _WORDS)
    if type_.is_list and not isinstance(value, list):
        return f"write a list, or `{type_.base.value}[N]` to let one value be repeated"
    return None


def _type_hint(name: str, names: Collection[str]) -> str | None:
    known = {"string": "str", "double": "float", "integer": "int", "boolean": "bool"}
    if name in known:
        return f"did you mean '{known[name]}'?"
    return did_you_mean(name, names)
