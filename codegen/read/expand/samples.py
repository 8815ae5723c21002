"""Samples: calls and names of sample sets -> mappings from arguments to values."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.model.entries import Signature
from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.calls import parse_arguments, parse_use
from flambeau.codegen.read.expand.definitions import SAMPLES, Scope
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Note, Text, did_you_mean
from flambeau.codegen.text.tree import Mapping, Node, Sequence


def expanded_samples(
    node: Node, signature: Signature, scope: Scope, diagnostics: Diagnostics
) -> Sequence:
    """The value of `samples`: one call or set, or a list of them."""
    items: list[Node] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        with diagnostics.collecting():
            items += [bound(text, signature) for text in _calls(item, scope)]
    return Sequence(tuple(items), node.span)


def bound(text: Text, signature: Signature) -> Mapping:
    """`randn(3, 4), dim=1` -> {self: ..., dim: ...}."""
    names = [a.name for a in signature.arguments if not a.keyword_only]
    values: dict[str, tuple[Text, Node]] = {}
    for place, given in enumerate(parse_arguments(text)):
        if given.name is None and place >= len(names):
            message = f"{len(names)} arguments of '{signature.full_name}' are given by position"
            raise DeclarationError.at(given.value.span, message, "write name=value")
        key = given.name or Text(names[place], given.value.span)
        if key.value in values:
            note = Note(values[key.value][1].span, "first given here")
            raise DeclarationError.at(key.span, f"'{key.value}' is given twice", None, note)
        values[key.value] = (key, given.value)
    return Mapping(tuple(values.values()), text.span)


def _calls(item: Node, scope: Scope) -> Iterator[Text]:
    """The calls that an item stands for."""
    if isinstance(item, Text) and not item.value and not item.plain:
        yield item  # "": a call without arguments
        return
    if isinstance(item, Mapping):
        hint = "write the arguments of a call: randn(3, 4), dim=1"
        raise DeclarationError.at(item.span, "a sample must be text, not a mapping", hint)
    text = schema.text(item, "a sample")
    use = parse_use(text)
    definition = scope.find(SAMPLES, use.name.value) if use is not None else None
    if use is None or definition is None:
        near = did_you_mean(use.name.value, scope.names(SAMPLES)) if use is not None else None
        if use is not None and near is not None:
            message = f"there is no sample set '{use.name.value}'"
            raise DeclarationError.at(use.name.span, message, near)
        yield text
        return
    for found in schema.sequence(definition.filled(use), "'calls'"):
        yield schema.text(found, "a sample")
