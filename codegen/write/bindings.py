"""The Python bindings of operators, in C++."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flambeau.codegen.model.entries import Declarations, Place
from flambeau.codegen.plan.binding import Binding, plan_bindings
from flambeau.codegen.plan.number_slots import COMPARISONS, plan_slots
from flambeau.codegen.plan.python_signature import result_name
from flambeau.codegen.write.batching import batching_table
from flambeau.codegen.write.files import Sink
from flambeau.codegen.write.layout import COLUMNS
from flambeau.codegen.write.native import by_letter


def emit_bindings(declarations: Declarations, sink: Sink) -> None:
    """python/ of the generated folder: units of families, and the tables. Their docstrings are
    data that the module reads (native/python/module/docstrings.h): editing them compiles nothing.
    """
    bindings = plan_bindings(declarations)
    emit_families(bindings, declarations, sink)
    _emit_tables(bindings, declarations, sink)


def emit_package_bindings(declarations: Declarations, module: str, sink: Sink) -> None:
    """The same for a package: its tables make a Python module of their own."""
    bindings = plan_bindings(declarations)
    emit_families(bindings, declarations, sink)
    sink.render(
        "package.cpp.jinja",
        "python/module/package.cpp",
        module=module,
        bindings=bindings,
        namespaces=_namespaces(bindings),
        methods=_methods(bindings),
        batching=_pieces(batching_table(declarations)),
    )


def _pieces(text: str) -> list[str]:
    """A long literal of C++, in lines."""
    parts = (text[i : i + 60] for i in range(0, len(text), 60))
    return [json.dumps(part) for part in parts]  # which spells ASCII as C++ does


def emit_families(bindings: Sequence[Binding], declarations: Declarations, sink: Sink) -> None:
    """A unit per letter that families of some bindings begin with. Functions of one type of C++
    share what reads their arguments, in a unit.
    """
    family_of = {o.identifier: o.family for o in declarations.operators}
    for letter, families in by_letter({b.family for b in bindings}).items():
        members = [b for family in families for b in bindings if b.family == family]
        used = {
            family_of.get(o.function, family_of.get(o.function.removesuffix("_"), b.family))
            for b in members
            for o in b.overloads
        }
        results = {
            o.result: (result_name(b.namespace, b.name), o)
            for b in members
            for o in b.overloads
            if o.named_result
        }
        sink.render(
            "bindings.cpp.jinja",
            f"python/families_{letter}.cpp",
            letter=letter,
            bindings=members,
            includes=sorted({*used, *families}),
            results=results,
            table=_table,
        )


def _literals(names: Iterable[str]) -> list[str]:
    """The names, each once, in order."""
    return [f'"{name}"' for name in sorted(set(names))]


def _table(head: str, items: Sequence[str]) -> str:
    """The definition of an array: in one line, or in several that its items fill."""
    line = f"{head} = {{{', '.join(items)}}};"
    if len(line) <= COLUMNS:
        return line
    lines = [f"{head} = {{"]
    for item in items:
        if len(lines) > 1 and len(lines[-1]) + len(item) + 2 <= COLUMNS:
            lines[-1] += f" {item},"
        else:
            lines.append(f"    {item},")
    return "\n".join([*lines, "};"])


def _emit_tables(bindings: list[Binding], declarations: Declarations, sink: Sink) -> None:
    slots, comparisons = plan_slots(declarations)
    namespaces = _namespaces(bindings)
    methods = _methods(bindings)
    texts = [entry.doc for _, members in namespaces for entry in members]
    texts += [entry.doc for entry in methods]
    sink.write("package/lib/docstrings.txt", "".join(f"{text}\x1f\n" for text in texts))
    sink.render(
        "binding_tables.cpp.jinja",
        "python/tables.cpp",
        families=sorted({o.family for o in declarations.operators}),
        bindings=bindings,
        slots=slots,
        namespaces=namespaces,
        methods=methods,
        comparisons=[comparisons.get(token) for token in COMPARISONS],
        internal=_literals(o.name for o in declarations.own if o.internal),
        names=_literals(o.name for o in declarations.own),
        table=_table,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a method table."""

    name: str  # the binding's, or an alias
    binding: Binding
    doc: str

    @property
    def doc_literal(self) -> str:
        """The docstring as C++: one literal per line of it."""
        lines = self.doc.splitlines(keepends=True)
        return "\n        ".join(json.dumps(line, ensure_ascii=False) for line in lines) or '""'


def _methods(bindings: list[Binding]) -> list[Entry]:
    """Every method, under every name."""
    entries: dict[str, Binding] = {}
    for binding in bindings:
        for name in binding.method_names if binding.is_method else ():
            entries.setdefault(name, binding)
    return [Entry(name, b, b.method_doc(name)) for name, b in entries.items()]


def _namespaces(bindings: list[Binding]) -> list[tuple[str, list[Entry]]]:
    """Every namespace that has functions, with these; the main one comes first."""
    functions: dict[Place, Binding] = {}
    for binding in bindings:
        for place in binding.places if binding.is_function else ():
            functions.setdefault(place, binding)
    spaces: dict[str, list[Entry]] = {"": []}
    for place, binding in functions.items():
        doc = binding.function_doc(place)
        spaces.setdefault(place.namespace, []).append(Entry(place.name, binding, doc))
    return [(namespace, members) for namespace, members in spaces.items() if members]
