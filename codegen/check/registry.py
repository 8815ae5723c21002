"""All checks, in the order in which they run."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import replace

from flambeau.codegen.check.packages import check_package
from flambeau.codegen.check.references import check_references
from flambeau.codegen.check.report import Context
from flambeau.codegen.check.structure import check_structure
from flambeau.codegen.check.tables import check_tables
from flambeau.codegen.check.translation import check_translation
from flambeau.codegen.read.loader import with_index
from flambeau.codegen.text.source import Diagnostic, sorted_diagnostics

Check = Callable[[Context], list[Diagnostic]]


# Structure first: what it finds fault with is kept from the checks that compute.
STRUCTURAL: tuple[Check, ...] = (check_tables, check_package, check_structure, check_references)
MATHEMATICS = "flambeau.codegen.check.mathematics"


def computing_checks() -> tuple[Check, ...]:
    """The checks that evaluate formulas; they need NumPy and SciPy, so they are imported late."""
    if importlib.util.find_spec(MATHEMATICS) is None:
        return ()
    module = importlib.import_module(MATHEMATICS)
    return (module.check_mathematics,)


def run_checks(context: Context, computing: bool = True) -> list[Diagnostic]:
    """Every mistake that the checks find. `computing` false: formulas are neither translated nor
    evaluated.

    Each stage looks at the operators in which those before it found nothing.
    """
    found = [diagnostic for check in STRUCTURAL for diagnostic in check(context)]
    for stage in ((check_translation,), computing_checks()) if computing else ():
        sound = _sound(context, found)
        found += [diagnostic for check in stage for diagnostic in check(sound)]
    return sorted_diagnostics(found)


def _sound(context: Context, found: list[Diagnostic]) -> Context:
    """The declarations without the operators that a diagnostic makes doubtful."""
    declarations = context.declarations
    starts = sorted((o.span.file, o.span.line) for o in declarations.operators)
    faulty = {_owner(starts, d) for d in found if not d.aside}
    places = [(o, (o.span.file, o.span.line)) for o in declarations.operators]
    operators = tuple(o for o, place in places if place not in faulty)
    dropped = frozenset(o.name for o, place in places if place in faulty)
    sound = with_index(replace(declarations, operators=operators))
    return replace(context, declarations=sound, incomplete=context.incomplete | dropped)


def _owner(starts: list[tuple[str, int]], diagnostic: Diagnostic) -> tuple[str, int] | None:
    """The entry that a diagnostic stands in: the last one of its file that begins before it."""
    span = diagnostic.span.used or diagnostic.span
    place = (span.file, span.line)
    before = [s for s in starts if s <= place and s[0] == place[0]]
    return before[-1] if before else None
