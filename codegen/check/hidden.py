"""Overloads that no call reaches, because others stand before them under their name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.model.entries import Argument, Operator, Place, Type
from flambeau.codegen.plan.binding import Group, overloads_by_home
from flambeau.codegen.plan.python_signature import (
    Form,
    is_method,
    places,
    python_arguments,
    python_names,
)
from flambeau.codegen.text.source import Diagnostics, Note, Span

METHODS = "Tensor"  # where methods are found


def check_hidden(context: Context, diagnostics: Diagnostics) -> None:
    """Report names that two homes give to different overloads, and overloads without a call."""
    groups = overloads_by_home(context.declarations)
    checked = {id(operator) for operator in context.checked}
    for earlier, later, place in _found_twice(groups):
        shown, other = (later, earlier) if id(later) in checked else (earlier, later)
        if id(shown) in checked:
            hint = "overloads that are found in one place share their 'namespace'"
            message = f"'{place}' is '{other.full_name}', which hides this overload"
            report = Report(shown, diagnostics)
            report.at(_said(report, place), message, hint, _note(other))
    for earlier, later in _twins(groups):
        if id(later) in checked:
            message = f"no call reaches it: '{earlier.full_name}' takes them all"
            Report(later, diagnostics).at(later.span, message, None, _note(earlier))


def _note(operator: Operator) -> Note:
    return Note(operator.span, f"'{operator.full_name}' is declared here")


def _found_twice(groups: dict[Place, Group]) -> Iterator[tuple[Operator, Operator, Place]]:
    """Operators that meet in a place, of two homes: there the first hides the other."""
    first: dict[Place, tuple[Place, Operator]] = {}
    for home, overloads in groups.items():
        for operator, form in overloads:
            for place in (*places(operator, form), *_as_method(operator, form)):
                its_home, earlier = first.setdefault(place, (home, operator))
                if its_home != home and earlier.name == operator.name:
                    yield earlier, operator, place


def _as_method(operator: Operator, form: Form) -> Iterator[Place]:
    if form is not Form.KEYWORD and is_method(operator):
        yield from (Place(METHODS, name) for name in python_names(operator, form))


def _said(report: Report, place: Place) -> Span:
    """Where an entry says that it is found in a place."""
    operator = report.operator
    for key, names in (("also_in", operator.also_in), ("aliases", operator.aliases)):
        for index, name in enumerate(names):
            if name in (place, place.name):
                return report.place(key, str(index))
    return report.place("namespace")


def _twins(groups: dict[Place, Group]) -> Iterator[tuple[Operator, Operator]]:
    for overloads in groups.values():
        for (earlier, first), (later, second) in combinations(overloads, 2):
            alike = first is second and earlier.layouts == later.layouts
            is_another = earlier.identifier != later.identifier
            if alike and is_another and _takes_all(earlier, later, first):
                yield earlier, later


def _takes_all(earlier: Operator, later: Operator, form: Form) -> bool:
    """Whether an overload takes every call of another one, wherever that is found."""
    variants = {"function", "method", "out"}
    if not variants & later.variants <= variants & earlier.variants:
        return False
    if not set(places(later, form)) <= set(places(earlier, form)):
        return False
    own, others = python_arguments(earlier, form), python_arguments(later, form)
    by_name = {argument.name: (index, argument) for index, argument in enumerate(own)}
    for index, argument in enumerate(others):
        at, mine = by_name.pop(argument.name, (-1, argument))
        if at < 0 or not (argument.keyword_only or at == index) or not _takes(mine, argument):
            return False
    return all(argument.default is not None for _, argument in by_name.values())


def _takes(own: Argument, other: Argument) -> bool:
    """Whether an argument may be left out, given by position, and be whatever another one may."""
    return (
        (own.default is not None or other.default is None)
        and own.keyword_only <= other.keyword_only
        and own.spread >= other.spread
        and _includes(own.type, other.type)
    )


def _includes(own: Type, other: Type) -> bool:
    if own.base is not other.base:
        return False
    alike = replace(own, optional=other.optional, only=other.only, meaning=other.meaning)
    return alike == other and own.optional >= other.optional and own.only in (None, other.only)
