"""The `dtypes` key of an operator: categories expanded, promotion and result dtypes decided."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from flambeau.codegen.formula.parse import parse_expression
from flambeau.codegen.model.entries import Argument, Dtype, DtypeRule, Kind, Signature
from flambeau.codegen.read import schema
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Text, did_you_mean
from flambeau.codegen.text.tree import Mapping, Node

_SAME = re.compile(r"same\((\w+)\)")
_INTEGERS = ("bool", "unsigned", "signed", "limited")
# What these take by default is not limited by kernels.
_WITHOUT_KERNEL = (Kind.VIEW, Kind.COMPOSITE)
# Results may also be called by what they are made from.
RESULT_WORDS = ("common", "real", "complex")
KERNEL_WORDS = ("common", "real")  # of them, those that elementwise kernels know


@dataclass(frozen=True, slots=True)
class DtypeTable:
    """The declared dtypes, and the categories that name several of them."""

    dtypes: tuple[Dtype, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dtypes)

    @property
    def categories(self) -> dict[str, frozenset[str]]:
        """What each word of the `dtypes` key stands for."""
        found = {
            "stored": frozenset(self.names),
            "limited": self.of("limited"),
            "any": self.of("bool", "unsigned", "signed", "float", "complex"),
            "numeric": self.of("unsigned", "signed", "float", "complex"),
            "integral": self.of("unsigned", "signed"),
            "float": self.of("float"),
            "complex": self.of("complex"),
        }
        return {name: frozenset({name}) for name in self.names} | found

    def of(self, *categories: str) -> frozenset[str]:
        """The dtypes of some of the categories of dtypes.yaml."""
        return frozenset(d.name for d in self.dtypes if d.category in categories)

    def expand(self, text: Text) -> frozenset[str]:
        """`float|complex` as dtype names."""
        found: frozenset[str] = frozenset()
        categories = self.categories
        offset = 0
        for part in text.value.split("|"):
            word = part.strip()
            if word not in categories:
                at = text.at(offset + len(part) - len(part.lstrip()), max(len(word), 1))
                hint = did_you_mean(word, categories) or self._alias_hint(word)
                raise DeclarationError.at(at, f"unknown dtype or category '{word}'", hint)
            found |= categories[word]
            offset += len(part) + 1
        return found

    def _alias_hint(self, word: str) -> str | None:
        return next((f"did you mean '{d.name}'?" for d in self.dtypes if word in d.aliases), None)


def read_dtype_rule(
    node: Mapping | None,
    signature: Signature,
    kind: Kind,
    table: DtypeTable,
    diagnostics: Diagnostics,
) -> DtypeRule:
    """The rule of an operator, defaults filled in."""
    return _Reader(signature, kind, table, diagnostics).rule(node)


class _Reader:
    def __init__(
        self, signature: Signature, kind: Kind, table: DtypeTable, diagnostics: Diagnostics
    ) -> None:
        self._kind = kind
        self._table = table
        self._diagnostics = diagnostics
        self._tensors = [a for a in signature.arguments if a.type.base.value == "Tensor"]
        self._results = {r.name: r for r in signature.results}
        self._accepts: dict[str, frozenset[str]] = {}
        self._same: dict[str, str] = {}
        self._result_dtypes: dict[str, str] = {}
        self._promote: tuple[str, ...] | None = None
        self._integers_to_float = False
        self._accumulate: str | None = None

    def rule(self, node: Mapping | None) -> DtypeRule:
        for key, value in node.entries if node is not None else ():
            with self._diagnostics.collecting():
                self._entry(key, value)
        promote = self._default_promote() if self._promote is None else self._promote
        computed = self._complete(promote)
        return DtypeRule(
            accepts=self._accepts,
            same_as=self._same,
            promote=promote,
            integers_to_float=self._integers_to_float,
            results=self._result_dtypes,
            accumulate=self._accumulate,
            kernels=computed,
            discrete=self._table.of(*_INTEGERS),
        )

    def _entry(self, key: Text, value: Node) -> None:
        word = key.value
        arguments = [a.name for a in self._tensors]
        if word == "promote":
            self._promote = tuple(self._tensor(n) for n in schema.names(value, "'promote'"))
        elif word == "int":
            schema.choice(value, "'int'", ("promote",))
            self._integers_to_float = True
        elif word == "accumulate":
            self._accumulate = schema.choice(value, "'accumulate'", self._table.names).value
        elif word in arguments:
            self._argument(word, schema.text(value, f"the dtypes of '{word}'"))
        elif word.removeprefix("result ").strip() in self._results:
            self._result(word.removeprefix("result ").strip(), value)
        else:
            known = [*arguments, *self._results, "promote", "int", "accumulate"]
            message = f"'{word}' is neither a tensor argument nor a result"
            raise DeclarationError.at(key.span, message, did_you_mean(word, known))

    def _tensor(self, name: Text) -> str:
        names = [a.name for a in self._tensors]
        if name.value not in names:
            message = f"'{name.value}' is not a tensor argument"
            raise DeclarationError.at(name.span, message, did_you_mean(name.value, names))
        return name.value

    def _argument(self, name: str, text: Text) -> None:
        match = _SAME.fullmatch(text.value)
        if match is None:
            self._accepts[name] = self._table.expand(text)
            return
        target = self._tensor(text.slice(*match.span(1)))
        if target == name or target in self._same:
            message = f"'{target}' has no dtype of its own to share"
            raise DeclarationError.at(text.at(match.start(1), len(target)), message)
        self._same[name] = target

    def _result(self, name: str, value: Node) -> None:
        text = schema.text(value, f"the dtype of '{name}'")
        declared = self._results[name].dtype
        if declared is not None and declared != text.value:
            message = f"the signature gives '{name}' the dtype {declared}"
            raise DeclarationError.at(text.span, message)
        if text.value not in (*RESULT_WORDS, *self._table.names):
            parse_expression(text)
        if self._kind is Kind.POINTWISE and text.value not in (*KERNEL_WORDS, *self._table.names):
            message = f"elementwise kernels write 'common', 'real' or a dtype, not '{text.value}'"
            hint = "a composite can convert what it computes with"
            raise DeclarationError.at(text.span, message, hint)
        self._result_dtypes[name] = text.value

    def _default_promote(self) -> tuple[str, ...]:
        """Pointwise: every tensor that is free in its dtype. Otherwise the first tensor decides."""
        if self._kind is not Kind.POINTWISE:
            return tuple(a.name for a in self._tensors[:1])
        return tuple(a.name for a in self._tensors if not self._is_fixed(a))

    def _is_fixed(self, argument: Argument) -> bool:
        return len(self._accepts.get(argument.name, ())) == 1

    def _complete(self, promote: tuple[str, ...]) -> frozenset[str]:
        """Fill in what each argument accepts; the dtypes that are computed in are returned."""
        everything = self._table.categories["stored" if self._kind in _WITHOUT_KERNEL else "any"]
        listed = [self._accepts[name] for name in promote if name in self._accepts]
        shared = listed[0] if listed else everything
        for argument in self._tensors:
            default = shared if argument.name in promote else everything
            self._accepts.setdefault(argument.name, default)
        computed = _union(self._accepts[name] for name in promote) if promote else everything
        if self._integers_to_float:
            integers = self._table.of(*_INTEGERS)
            computed -= integers
            for name in promote:
                self._accepts[name] |= integers
        for name, target in self._same.items():
            self._accepts[name] = self._accepts[target]
        return computed


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)
