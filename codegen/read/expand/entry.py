"""One entry as it is written -> the entry in full, which is what readers and checks see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flambeau.codegen.model.entries import Signature
from flambeau.codegen.read import schema
from flambeau.codegen.read.doc_reader import DOC_KEYS, TEST_KEYS
from flambeau.codegen.read.expand.definitions import Scope
from flambeau.codegen.read.expand.errors import expanded_errors
from flambeau.codegen.read.expand.examples import expanded_example
from flambeau.codegen.read.expand.families import Head, with_defaults
from flambeau.codegen.read.expand.samples import expanded_samples
from flambeau.codegen.read.operator_reader import (
    HELPER,
    HELPER_KEYS,
    KEYS,
    PUBLIC_KEYS,
    is_helper,
)
from flambeau.codegen.text.source import Diagnostics, Text
from flambeau.codegen.text.tree import Mapping

_REJECTS = "rejects"  # said by the errors themselves
_GATHERED = {"doc": DOC_KEYS, "test": tuple(k for k in TEST_KEYS if k != _REJECTS)}
ENTRY_KEYS = (*KEYS, *_GATHERED["doc"], *_GATHERED["test"])  # as they are written
_OPERATOR_KEYS = tuple(key for key in ENTRY_KEYS if key not in HELPER_KEYS)
_HELPER_KEYS = (HELPER, *(key for key in ENTRY_KEYS if key not in ("op", *PUBLIC_KEYS)))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the entries of a file share."""

    head: Head = field(default_factory=Head)
    scope: Scope = field(default_factory=Scope)
    module: str = "flambeau"  # where Python finds their functions


def expanded(
    entry: Mapping, signature: Signature | None, around: Surroundings, diagnostics: Diagnostics
) -> Mapping:
    """The entry in full. Where the signature could not be read, samples are left out."""
    what, keys = ("a helper", _HELPER_KEYS) if is_helper(entry) else ("an operator", _OPERATOR_KEYS)
    schema.check_keys(entry, what, keys, (), diagnostics)
    arguments = {a.name for a in signature.given} if signature else set[str]()
    results = {r.name for r in signature.results} if signature else set[str]()
    entry = with_defaults(entry, around.head, arguments, results, diagnostics)
    first: Mapping | None = None
    samples = entry.get("samples")
    if samples is not None and signature is not None:
        calls = expanded_samples(samples, signature, around.scope, diagnostics)
        first = next((s for s in calls.items if isinstance(s, Mapping)), None)
        entry = entry.having("samples", calls)
    elif samples is not None:
        entry = entry.without("samples")
    example = entry.get("example")
    if example is not None and signature is not None:
        home = _home(entry, around.module)
        entry = entry.without("example")
        with diagnostics.collecting():
            entry = entry.having("example", expanded_example(example, signature, home))
    errors = entry.get("errors")
    rejects: Mapping | None = None
    if errors is not None:
        found = expanded_errors(errors, signature, first, around.scope, diagnostics)
        entry, rejects = entry.having("errors", found.errors), found.rejects
    return _gathered(entry, rejects)


def _home(entry: Mapping, module: str) -> str:
    """Where the function of an entry is found."""
    namespace = entry.get("namespace")
    return f"{module}.{namespace.value}" if isinstance(namespace, Text) else module


def _gathered(entry: Mapping, rejects: Mapping | None) -> Mapping:
    """What is written about an operator below `doc`, and how it is tested below `test`."""
    entry = entry.without(*_GATHERED)
    for name, keys in _GATHERED.items():
        inside = tuple((k, v) for k, v in entry.entries if k.value in keys)
        if name == "test" and rejects is not None and rejects.entries:
            inside = (*inside, (Text(_REJECTS, rejects.span), rejects))
        entry = entry.without(*keys)
        if inside:
            span = inside[0][0].span
            entries = (*entry.entries, (Text(name, span), Mapping(inside, span)))
            entry = replace(entry, entries=entries)
    return entry
