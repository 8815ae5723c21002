"""Reference pages: one Markdown page per public operator name, and an index by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.codegen.emit.files import Sink
from flambeau.codegen.model import Declarations, Dtype, Kind, Operator
from flambeau.codegen.plan.documentation import OverloadDoc, called, describe
from flambeau.codegen.plan.python_signature import forms, qualified_name
from flambeau.codegen.plan.reach import Reach

FOLDER = "docs/operators"


@dataclass(frozen=True, slots=True)
class Support:
    """A row of the table of dtypes and backends."""

    dtype: str
    backends: tuple[bool, ...]
    computed_in: str  # where it is not computed in itself


@dataclass(frozen=True, slots=True)
class Overload:
    """One overload on a page."""

    doc: OverloadDoc
    support: tuple[Support, ...]
    calls: tuple[str, ...]  # the operators that a composite is made of
    others: tuple[tuple[str, str], ...]  # tensor arguments with dtypes of their own


@dataclass(frozen=True, slots=True)
class Page:
    """Everything under one name."""

    name: str
    title: str
    aliases: tuple[str, ...]
    family: str
    summary: str
    overloads: tuple[Overload, ...]
    see_also: tuple[tuple[str, str | None], ...]  # name, page


def emit_docs(declarations: Declarations, sink: Sink) -> None:
    """docs/operators/ of the generated folder."""
    found = pages(declarations)
    emit_pages(found, declarations, sink)
    by_family: dict[str, list[Page]] = {}
    for page in found:
        by_family.setdefault(page.family, []).append(page)
    sink.render("operators.md.jinja", f"{FOLDER}/index.md", families=sorted(by_family.items()))


def emit_pages(found: Sequence[Page], declarations: Declarations, sink: Sink) -> None:
    """A file per page."""
    backends = [backend.name for backend in declarations.backends]
    for page in found:
        sink.render("operator.md.jinja", f"{FOLDER}/{page.name}.md", page=page, backends=backends)


def pages(declarations: Declarations) -> list[Page]:
    """A page per name that users can call."""
    names: dict[str, list[Operator]] = {}
    homes: dict[str, str] = {}  # name or alias -> its page
    for operator in declarations.operators:
        if operator.internal or not forms(operator):
            continue
        names.setdefault(operator.name, []).append(operator)
    for name, operators in names.items():
        homes[name] = name
        for operator in operators:
            for alias in operator.aliases:
                homes.setdefault(alias, name)
            if "inplace" in operator.variants:
                homes.setdefault(f"{name}_", name)
    reach = Reach(declarations)
    return [_page(name, operators, declarations, homes, reach) for name, operators in names.items()]


def _page(
    name: str,
    operators: list[Operator],
    declarations: Declarations,
    homes: dict[str, str],
    reach: Reach,
) -> Page:
    first = operators[0]
    see_also = dict.fromkeys(other for o in operators for other in o.doc.see_also if other != name)
    return Page(
        name=name,
        title=qualified_name(first, forms(first)[0]),
        aliases=tuple(dict.fromkeys(a for o in operators for a in o.aliases)),
        family=first.family,
        summary=" ".join(first.doc.summary.split()),
        overloads=tuple(_overload(o, declarations, reach) for o in operators),
        see_also=tuple((other, homes.get(other)) for other in see_also),
    )


def _overload(operator: Operator, declarations: Declarations, reach: Reach) -> Overload:
    rule = operator.dtypes
    supported = reach.backends(operator)
    marks = tuple(backend.name in supported for backend in declarations.backends)
    rows: frozenset[str] = frozenset().union(*(rule.accepts[name] for name in rule.promote))
    if not operator.tensor_arguments:
        rows = frozenset(d.name for d in declarations.dtypes)
    support = tuple(
        Support(dtype.name, marks, _computed_in(dtype, operator))
        for dtype in declarations.dtypes
        if dtype.name in rows
    )
    if operator.kind is Kind.COMPOSITE and len(support) == len(declarations.dtypes):
        # A body takes what the operators that it calls take.
        support = (Support("as the operators below", marks, ""),)
    return Overload(
        doc=describe(operator),
        support=support,
        calls=_calls(operator, declarations),
        others=tuple(
            (argument.name, _other_dtypes(argument.name, operator, declarations))
            for argument in operator.tensor_arguments
            if argument.name not in rule.promote
        ),
    )


def _calls(operator: Operator, declarations: Declarations) -> tuple[str, ...]:
    """The operators that a body calls."""
    formulas = [f for _, f in operator.body_lets]
    formulas += [operator.body] if operator.body is not None else []
    names = frozenset().union(*(called(f) for f in formulas)) if formulas else frozenset()
    return tuple(sorted(name for name in names if name in declarations.by_name))


def _computed_in(dtype: Dtype, operator: Operator) -> str:
    if operator.dtypes.integers_to_float and dtype.name not in operator.dtypes.kernels:
        return "the default floating-point dtype"
    # Formulas of halves are computed in float32; kernels that only move elements are not.
    computes = operator.kind in (Kind.POINTWISE, Kind.REDUCTION) or operator.dtypes.accumulate
    wider = dtype.category == "float" and dtype.accumulate != dtype.name
    return dtype.accumulate if computes and wider and operator.kind is not Kind.VIEW else ""


def _other_dtypes(name: str, operator: Operator, declarations: Declarations) -> str:
    if name in operator.dtypes.same_as:
        return f"that of `{operator.dtypes.same_as[name]}`"
    accepted = operator.dtypes.accepts[name]
    if len(accepted) == len(declarations.dtypes):
        return "any dtype"
    return ", ".join(d.name for d in declarations.dtypes if d.name in accepted)
