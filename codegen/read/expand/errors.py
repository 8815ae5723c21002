"""Errors: a list of names of shared ones and of errors of the entry's own -> `errors` by name, and
the arguments that each rejects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from flambeau.codegen.model.entries import Signature
from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.calls import Use, parse_use
from flambeau.codegen.read.expand.definitions import ERROR, ERROR_KEYS, Scope
from flambeau.codegen.read.expand.samples import bound
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Note, Text, did_you_mean
from flambeau.codegen.text.tree import Mapping, Node, Sequence

_NUMBERED = re.compile(r"[a-z]+\d+|[a-z]")
_NAME = re.compile(r"\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of an entry by their names, and what they reject."""

    errors: Mapping
    rejects: Mapping


def expanded_errors(
    node: Node,
    signature: Signature | None,
    first: Mapping | None,
    scope: Scope,
    diagnostics: Diagnostics,
) -> Errors:
    """The value of `errors`: one, or a list. `first`: the entry's first sample, which has what
    rejected calls leave out.
    """
    found: dict[str, tuple[Text, Mapping]] = {}
    for item in node.items if isinstance(node, Sequence) else (node,):
        with diagnostics.collecting():
            name, body = _error(item, scope, found)
            earlier = found.setdefault(name.value, (name, body))[0]
            if earlier is not name:
                note = Note(earlier.span, "first given here")
                message = f"the error '{name.value}' is given twice"
                raise DeclarationError.at(name.span, message, None, note)
    rejects: list[tuple[Text, Node]] = []
    for name, body in found.values():
        rejected = body.get("rejects")
        if rejected is not None and signature is not None:
            with diagnostics.collecting():
                text = schema.text(rejected, "'rejects'")
                rejects.append((name, _completed(bound(text, signature), signature, first)))
    errors = tuple((name, body.without("rejects")) for name, body in found.values())
    return Errors(Mapping(errors, node.span), Mapping(tuple(rejects), node.span))


def _error(
    item: Node, scope: Scope, before: dict[str, tuple[Text, Mapping]]
) -> tuple[Text, Mapping]:
    """One item: the name of a shared error, or an error, which begins with its name."""
    if isinstance(item, Text):
        return _shared(schema.text(item, "an error"), None, scope, before)
    fields = schema.mapping(item, "an error")
    own = Diagnostics()
    schema.check_keys(fields, "an error", ERROR_KEYS, (ERROR,), own)
    own.raise_if_any()
    head = fields.get(ERROR)
    assert head is not None
    text = schema.text(head, "an error's name")
    if fields.get("require") is None and fields.get("message") is None:
        return _shared(text, fields.without(ERROR), scope, before)
    name = schema.name(text, "an error's name")
    if _NUMBERED.fullmatch(name.value):
        message = f"the error's name '{name.value}' says nothing"
        hint = "say what holds, or what is wrong, as in `same_shape`"
        raise DeclarationError.at(name.span, message, hint)
    return name, fields.without(ERROR)


def _shared(
    text: Text, own: Mapping | None, scope: Scope, before: dict[str, tuple[Text, Mapping]]
) -> tuple[Text, Mapping]:
    """A shared error. The entry may say itself what it raises, and what it rejects."""
    use = parse_use(text)
    definition = scope.find(ERROR, use.name.value) if use is not None else None
    if use is None or definition is None:
        written = use.name if use is not None else text
        hint = did_you_mean(written.value, scope.names(ERROR))
        message = f"there is no error '{written.value}'"
        raise DeclarationError.at(written.span, message, hint)
    body = schema.mapping(definition.filled(use), "an error")
    for key, value in own.entries if own is not None else ():
        body = body.having(key.value, value)
    return _named(use, before), body


def _named(use: Use, before: dict[str, tuple[Text, Mapping]]) -> Text:
    """What the error is called in the entry: a second use is told by what it is about."""
    if use.name.value not in before or not use.arguments:
        return use.name
    words = _NAME.findall(use.arguments[0].value)
    return replace(use.name, value="_".join([use.name.value, *words]))


def _completed(sample: Mapping, signature: Signature, first: Mapping | None) -> Mapping:
    """A rejected call; what it leaves out and has no default is as in the first sample."""
    needed = [a.name for a in signature.arguments if a.default is None]
    entries = () if first is None else first.entries
    more = tuple((k, v) for k, v in entries if k.value in needed and sample.key(k.value) is None)
    return replace(sample, entries=(*sample.entries, *more))
