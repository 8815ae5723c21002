"""dtypes.yaml and backends.yaml: names are unique, and refer to dtypes that exist."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.check.report import Context
from flambeau.codegen.model.entries import Backend, Dtype
from flambeau.codegen.read import schema
from flambeau.codegen.text.source import Diagnostic, Diagnostics, Note, Span, did_you_mean

_NOWHERE = Span("<declarations>", 1, 1)


def check_tables(context: Context) -> list[Diagnostic]:
    """Mistakes in the tables of dtypes and backends."""
    diagnostics = Diagnostics()
    dtypes, backends = context.declarations.dtypes, context.declarations.backends
    _check_unique([(b.name, _place(b, "backend")) for b in backends], diagnostics)
    names = [(d.name, _place(d, "dtype")) for d in dtypes]
    names += [(a, _place(d, "aliases", str(i))) for d in dtypes for i, a in enumerate(d.aliases)]
    _check_unique(names, diagnostics)
    known = [d.name for d in dtypes]
    for dtype in dtypes:
        for key, name in (("accumulate", dtype.accumulate), ("real", dtype.real)):
            if name not in known:
                message = f"{dtype.name}: there is no dtype '{name}'"
                diagnostics.error(_place(dtype, key), message, did_you_mean(name, known))
    return diagnostics.sorted()


def _check_unique(names: Sequence[tuple[str, Span]], diagnostics: Diagnostics) -> None:
    first: dict[str, Span] = {}
    for name, span in names:
        if first.setdefault(name, span) is not span:
            note = Note(first[name], "first declared here")
            diagnostics.error(span, f"'{name}' is declared already", None, note)


def _place(declared: Dtype | Backend, *path: str) -> Span:
    return schema.place(declared.entry, *path) or _NOWHERE
