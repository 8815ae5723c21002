"""The keys of an operator that hold what is written about it and how it is tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flambeau.codegen.model.entries import Doc, Test
from flambeau.codegen.read import schema
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.text.tree import Mapping, Node

T = TypeVar("T")

TEST_KEYS = (
    *("reference", "samples", "extremes", "rejects", "properties", "tolerance", "gradient"),
    "arbitrary",
)
DOC_KEYS = ("summary", "math", "notes", "args", "returns", "example", "see")
EMPTY_TEST = Test(None, (), {}, {}, (), None, gradient=True, arbitrary=False)
EMPTY_DOC = Doc("", None, None, {}, {}, None, ())


class _Fields:
    """The values of a mapping, each read by itself; mistakes are collected."""

    def __init__(self, node: Node, what: str, diagnostics: Diagnostics) -> None:
        self.mapping: Mapping = schema.mapping(node, what)
        self._diagnostics = diagnostics

    def read(self, key: str, convert: Callable[[Node, str], T], default: T) -> T:
        """The value of a key, or the default where there is none or it cannot be read."""
        node = self.mapping.get(key)
        if node is not None:
            with self._diagnostics.collecting():
                return convert(node, f"'{key}'")
        return default


def read_test(node: Node, diagnostics: Diagnostics) -> Test:
    """How an operator is tested."""
    fields = _Fields(node, "the test", diagnostics)

    def samples(found: Node, what: str) -> tuple[dict[str, str], ...]:
        read: list[dict[str, str]] = []
        for item in schema.sequence(found, what):
            with diagnostics.collecting():
                read.append(_sample(item, "a sample"))
        return tuple(read)

    return Test(
        reference=fields.read("reference", _text, None),
        samples=fields.read("samples", samples, ()),
        extremes=fields.read("extremes", _extremes, {}),
        rejects=fields.read("rejects", _rejects, {}),
        properties=fields.read("properties", _text_list, ()),
        tolerance=fields.read("tolerance", _tolerance, None),
        gradient=fields.read("gradient", schema.boolean, True),
        arbitrary=fields.read("arbitrary", schema.boolean, False),
    )


def read_doc(node: Node, diagnostics: Diagnostics) -> Doc:
    """What is written about an operator."""
    fields = _Fields(node, "the documentation", diagnostics)
    return Doc(
        summary=fields.read("summary", _text, None) or "",
        math=fields.read("math", _text, None),
        notes=fields.read("notes", _text, None),
        arguments=fields.read("args", _text_by_name, {}),
        returns=fields.read("returns", _text_by_name, {}),
        example=fields.read("example", _text, None),
        see_also=fields.read("see", _text_list, ()),
    )


def _text(node: Node, what: str) -> str | None:
    return schema.text(node, what).value


def _tolerance(node: Node, what: str) -> float | None:
    return schema.number(node, what)


def _text_by_name(node: Node, what: str) -> dict[str, str]:
    entries = schema.mapping(node, what).entries
    return {k.value: schema.text(v, f"the text of '{k.value}'").value for k, v in entries}


def _text_list(node: Node, what: str) -> tuple[str, ...]:
    return tuple(schema.text(n, f"an entry of {what}").value for n in schema.sequence(node, what))


def _sample(node: Node, what: str) -> dict[str, str]:
    entries = schema.mapping(node, what).entries
    return {k.value: schema.source_text(v, f"the value of '{k.value}'") for k, v in entries}


def _extremes(node: Node, what: str) -> dict[str, tuple[float, ...]]:
    return {
        k.value: tuple(schema.number(n, "an extreme") for n in schema.sequence(v, "extremes"))
        for k, v in schema.mapping(node, what).entries
    }


def _rejects(node: Node, what: str) -> dict[str, dict[str, str]]:
    entries = schema.mapping(node, what).entries
    return {k.value: _sample(v, f"what '{k.value}' rejects") for k, v in entries}
