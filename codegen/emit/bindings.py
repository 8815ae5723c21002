"""The Python bindings of operators, in C++."""

from __future__ import annotations

from flambeau.codegen.emit.files import Output
from flambeau.codegen.model import Declarations
from flambeau.codegen.plan.binding import COMPARISONS, Binding, plan_bindings, plan_slots


def emit_bindings(declarations: Declarations, output: Output) -> None:
    """python/ of the generated folder: a unit per family, and the tables."""
    bindings = plan_bindings(declarations)
    family_of = {o.identifier: o.family for o in declarations.operators}
    by_family: dict[str, list[Binding]] = {}
    for binding in bindings:
        by_family.setdefault(binding.family, []).append(binding)
    for family, members in by_family.items():
        used = {
            family_of.get(o.identifier, family_of.get(o.identifier.removesuffix("_"), family))
            for b in members
            for o in b.overloads
        }
        output.render(
            "bindings.cpp.jinja",
            f"python/{family}.cpp",
            family=family,
            bindings=members,
            includes=sorted(used | {family}),
        )
    slots, comparisons = plan_slots(declarations)
    output.render(
        "binding_tables.cpp.jinja",
        "python/tables.cpp",
        families=sorted(set(family_of.values())),
        bindings=bindings,
        slots=slots,
        namespaces=_namespaces(bindings),
        methods=_entries([b for b in bindings if b.is_method]),
        comparisons=[comparisons.get(token) for token in COMPARISONS],
    )


def _entries(bindings: list[Binding]) -> list[tuple[str, Binding]]:
    """(name, binding), aliases too."""
    entries = {}
    for binding in bindings:
        for name in (binding.name, *binding.aliases):
            entries.setdefault(name, binding)
    return list(entries.items())


def _namespaces(bindings: list[Binding]) -> list[tuple[str, list[tuple[str, Binding]]]]:
    names = dict.fromkeys([""] + [b.namespace for b in bindings])
    return [
        (name, _entries([b for b in bindings if b.namespace == name and b.is_function]))
        for name in names
    ]
