"""The head of a family's file: what the family is, and what its entries share.

- family: activation
  doc: "Activation functions, elementwise."
  defaults: {kind: pointwise, namespace: nn.functional, dtypes: {self: float}}
  args: {lambd: "half the width of the interval around 0"}

An entry has each default whose key it does not have itself; `key: null` declines one. Defaults of
where users find an operator do not concern helpers. What a head
says about an argument or a result holds where an entry with one of that name does not say it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.substitution import as_used
from flambeau.codegen.read.operator_reader import is_helper
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Text
from flambeau.codegen.text.tree import Mapping, Node

FAMILY = "family"
# What may be a default.
DEFAULTS = (
    *("kind", "variants", "namespace", "inplace", "dtypes", "derivative", "linear_in"),
    *("autocast", "batch", "samples", "extremes", "tolerance", "gradient"),
)
_OF_PUBLIC = ("variants", "namespace", "inplace")
HEAD_KEYS = (FAMILY, "doc", "defaults", "args", "returns")


@dataclass(frozen=True, slots=True)
class Head:
    """What the first item of a file says about its entries."""

    doc: str = ""
    defaults: tuple[tuple[Text, Node], ...] = ()
    args: tuple[tuple[Text, Node], ...] = ()
    returns: tuple[tuple[Text, Node], ...] = ()


def read_head(entry: Mapping, diagnostics: Diagnostics) -> Head:
    """Read a head; mistakes are collected."""
    schema.check_keys(entry, "a family's head", HEAD_KEYS, ("doc",), diagnostics)
    with diagnostics.collecting():
        name = schema.text(entry.entries[0][1], "'family'")
        stem = Path(entry.span.file).stem
        if name.value != stem:
            hint = f"write {stem}, as the file is called"
            raise DeclarationError.at(name.span, f"'{name.value}' is not this family", hint)
    doc = entry.get("doc")
    found: dict[str, tuple[tuple[Text, Node], ...]] = {}
    for key in ("defaults", "args", "returns"):
        node = entry.get(key)
        with diagnostics.collecting():
            found[key] = () if node is None else schema.mapping(node, f"'{key}'").entries
    defaults = Mapping(found.get("defaults", ()), entry.span)
    schema.check_keys(defaults, "'defaults'", DEFAULTS, (), diagnostics)
    text = ""
    with diagnostics.collecting():
        text = "" if doc is None else schema.text(doc, "'doc'").value
    return Head(
        doc=" ".join(text.split()),
        defaults=tuple((k, v) for k, v in defaults.entries if k.value in DEFAULTS),
        args=found.get("args", ()),
        returns=found.get("returns", ()),
    )


def with_defaults(
    entry: Mapping,
    head: Head,
    arguments: Collection[str],
    results: Collection[str],
    diagnostics: Diagnostics,
) -> Mapping:
    """The entry with what the head gives it."""
    used = entry.entries[0][1].span
    entries = list(entry.entries)
    defaults = tuple(
        (k, v) for k, v in head.defaults if not (is_helper(entry) and k.value in _OF_PUBLIC)
    )
    for key, value in defaults:
        own = entry.get(key.value)
        if own is None:
            entries.append((key, as_used(value, used)))
        elif schema.is_null(own):
            entries = [e for e in entries if e[0].value != key.value]
    _report_repeated(entry, defaults, diagnostics)
    entry = replace(entry, entries=tuple(entries))
    for name, texts, known in (("args", head.args, arguments), ("returns", head.returns, results)):
        given = entry.get(name)
        given = given if isinstance(given, Mapping) else Mapping((), entry.span)
        _report_repeated(given, texts, diagnostics)
        missing = tuple(
            (key, as_used(value, used))
            for key, value in texts
            if key.value in known and given.key(key.value) is None
        )
        if missing:
            whole = replace(given, entries=(*given.entries, *missing))
            entry = entry.having(name, whole)
    return entry


def _report_repeated(
    given: Mapping, shared: tuple[tuple[Text, Node], ...], diagnostics: Diagnostics
) -> None:
    for key, value in shared:
        own = given.get(key.value)
        if own is not None and content(own) == content(value):
            place = given.key(key.value)
            assert place is not None
            message = f"'{key.value}' repeats what the family's head says"
            diagnostics.error(place.span, message, "leave it out", aside=True)


def content(node: Node) -> object:
    """What a node says, wherever it stands."""
    if isinstance(node, Text):
        return node.value
    if isinstance(node, Mapping):
        return {key.value: content(value) for key, value in node.entries}
    return [content(item) for item in node.items]
