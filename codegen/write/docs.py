"""Reference pages: one Markdown page (MyST) per public operator name, one per family, an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.codegen.model.entries import Declarations, Dtype, Kind, Operator
from flambeau.codegen.plan.composed_gradient import ComposedGradients
from flambeau.codegen.plan.coverage import COMPOSED, forward_of, reverse_of
from flambeau.codegen.plan.documentation import (
    OverloadDoc,
    called,
    describe,
    entry_text,
    equations_of_gradients,
    equations_of_parts,
    gradient_latex,
    inherited_lines,
    is_curve,
)
from flambeau.codegen.plan.markdown import code, escaped
from flambeau.codegen.plan.named_parts import too_long
from flambeau.codegen.plan.python_signature import (
    forms,
    python_signature,
    qualified_name,
    qualified_names,
)
from flambeau.codegen.plan.reach import Reach
from flambeau.codegen.write.files import Sink

FOLDER = "docs"
_TOOLS = {"escaped": escaped, "code": code}  # for templates
_DERIVATIVES = {
    "automatic": "derived from the formula",
    "formula": "declared as a formula",
    "automatic and formula": "partly derived from the formula, partly declared",
    "composed": "that of the operators it is made of",
    "from reverse": "derived from the gradient formula",
    "linear": "the operator itself, applied to the tangent",
    "zero": "zero",
}


@dataclass(frozen=True, slots=True)
class Support:
    """A row of the table of dtypes and backends."""

    dtypes: tuple[str, ...]
    backends: tuple[bool, ...]
    computed_in: str  # where it is not computed in itself


@dataclass(frozen=True, slots=True)
class Call:
    """A signature, as a directive of Sphinx's Python domain."""

    directive: str
    signature: str  # with the full name
    repeated: bool  # an overload before it has the same name


@dataclass(frozen=True, slots=True)
class Overload:
    """One overload on a page."""

    doc: OverloadDoc
    support: tuple[Support, ...]
    calls: tuple[tuple[str, str | None], ...]  # what a composite is made of: name, page
    others: tuple[tuple[str, str], ...]  # tensor arguments with dtypes of their own
    heading: str  # where a page has several: "max(input, dim, keepdim)"
    calls_of_forms: tuple[Call, ...]
    gradients: tuple[str, ...]  # LaTeX: declared, derived, or what results for a composite
    parts: tuple[str, ...]  # LaTeX of what these call by a name
    assumed: tuple[str, ...]  # where these hold for defaults alone: "dtype=None"
    only_real: bool  # whether they hold for real numbers alone
    way: tuple[tuple[str, str | None], ...]  # what the gradient goes back through: name, page
    inner: tuple[tuple[str, tuple[str, ...]], ...]  # the gradients of those without a page: LaTeX
    modes: tuple[tuple[str, str], ...]  # "Reverse mode", how gradients come about
    curve: bool  # whether a plot says something
    entry: str  # the declaration
    inherited: tuple[str, ...]  # what the family's head gives it, as written there


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


@dataclass(frozen=True, slots=True)
class Family:
    """A file of declarations."""

    name: str
    text: str  # what its head says it is
    pages: tuple[Page, ...]


def emit_docs(found: Sequence[Page], declarations: Declarations, sink: Sink) -> None:
    """docs/operators/ and docs/families/ of the generated folder, for the pages that were found."""
    emit_pages(found, declarations, sink)
    by_family = families(found, declarations)
    for family in by_family:
        name = f"{FOLDER}/families/{family.name}.md"
        sink.render("operator_family.md.jinja", name, family=family, **_TOOLS)
    name = f"{FOLDER}/operators/index.md"
    sink.render("operators.md.jinja", name, families=by_family, count=len(found), **_TOOLS)


def emit_pages(found: Sequence[Page], declarations: Declarations, sink: Sink) -> None:
    """A file per page."""
    backends = [backend.name for backend in declarations.backends]
    for page in found:
        name = f"{FOLDER}/operators/{page.name}.md"
        sink.render("operator.md.jinja", name, page=page, backends=backends, **_TOOLS)


def families(found: Sequence[Page], declarations: Declarations) -> list[Family]:
    """The pages by the file that declares them."""
    by_family: dict[str, list[Page]] = {}
    for page in found:
        by_family.setdefault(page.family, []).append(page)
    return [
        Family(name, declarations.families.get(name, ""), tuple(members))
        for name, members in sorted(by_family.items())
    ]


def pages(declarations: Declarations) -> list[Page]:
    """A page per name that users can call."""
    names: dict[str, list[Operator]] = {}
    homes: dict[str, str] = {}  # name or alias -> its page
    for operator in declarations.own:
        if operator.internal or not forms(operator):
            continue
        names.setdefault(operator.name, []).append(operator)
    for name, operators in names.items():
        homes[name] = name
        for operator in operators:
            for alias in (*operator.aliases, *(p.name for p in operator.also_in)):
                homes.setdefault(alias, name)
            if "inplace" in operator.variants:
                homes.setdefault(f"{name}_", name)
    derived = _Derived(Reach(declarations), ComposedGradients(declarations))
    return [_page(name, found, declarations, homes, derived) for name, found in names.items()]


@dataclass(frozen=True, slots=True)
class _Derived:
    """What follows from the declarations of all operators together."""

    reach: Reach
    gradients: ComposedGradients


def _page(
    name: str,
    operators: list[Operator],
    declarations: Declarations,
    homes: dict[str, str],
    derived: _Derived,
) -> Page:
    first = operators[0]
    see_also = dict.fromkeys(other for o in operators for other in o.doc.see_also if other != name)
    return Page(
        name=name,
        title=qualified_name(first, forms(first)[0]),
        aliases=tuple(dict.fromkeys(a for o in operators for a in o.aliases)),
        family=first.family,
        summary=" ".join(first.doc.summary.split()),
        overloads=tuple(
            _overload(o, declarations, derived, homes, o is not first) for o in operators
        ),
        see_also=tuple((other, homes.get(other)) for other in see_also),
    )


def _overload(
    operator: Operator,
    declarations: Declarations,
    derived: _Derived,
    homes: dict[str, str],
    repeated: bool,
) -> Overload:
    rule = operator.dtypes
    supported = derived.reach.backends(operator)
    marks = tuple(backend.name in supported for backend in declarations.backends)
    rows: frozenset[str] = frozenset().union(*(rule.accepts[name] for name in rule.promote))
    if not operator.tensor_arguments:
        rows = frozenset(d.name for d in declarations.dtypes)
    groups: dict[str, list[str]] = {}
    for dtype in declarations.dtypes:
        if dtype.name in rows:
            groups.setdefault(_computed_in(dtype, operator), []).append(dtype.name)
    if operator.kind is Kind.COMPOSITE and len(rows) == len(declarations.dtypes):
        # A body takes what the operators that it calls take.
        groups = {"": ["as the operators below"]}
    doc = describe(operator)
    composed = derived.gradients.of(operator)
    is_composed = composed is None and reverse_of(operator) == COMPOSED
    way = derived.gradients.way(operator) if is_composed else ()
    return Overload(
        doc=doc,
        gradients=(
            equations_of_gradients(operator, composed.formulas) if composed else doc.gradients
        ),
        parts=equations_of_parts(operator, composed.parts) if composed else (),
        assumed=tuple(f"{n}={v!r}" for n, v in composed.assumed.items()) if composed else (),
        support=tuple(Support(tuple(names), marks, where) for where, names in groups.items()),
        calls=tuple((name, homes.get(name)) for name in _calls(operator, declarations)),
        others=tuple(
            (argument.name, _other_dtypes(argument.name, operator, declarations))
            for argument in operator.tensor_arguments
            if argument.name not in rule.promote
        ),
        heading=python_signature(operator, forms(operator)[0]).untyped().replace("$self", "self"),
        calls_of_forms=_calls_of_forms(operator, repeated or _is_form(operator, declarations)),
        only_real=composed is not None and composed.only_real,
        way=tuple((name, homes.get(name)) for name in way),
        inner=_inner(way, declarations, homes),
        modes=_modes(operator, declarations, is_composed and not way),
        curve=is_curve(operator),
        entry=entry_text(operator),
        inherited=inherited_lines(operator),
    )


def _is_form(operator: Operator, declarations: Declarations) -> bool:
    """Whether it has the name of the in-place form of another, as `add_.sparse` has."""
    stems = declarations.by_name.get(operator.name.removesuffix("_"), ())
    return any(o is not operator and any(f.is_inplace for f in forms(o)) for o in stems)


def _calls_of_forms(operator: Operator, repeated: bool) -> tuple[Call, ...]:
    """The call in every form."""
    found = []
    for form in forms(operator):
        directive = "py:method" if form.is_method else "py:function"
        for name in qualified_names(operator, form):
            full = f"flambeau.{name}" if form.is_method else name
            signature = python_signature(operator, form, full)
            text = f"{signature.text(receiver='')} -> {signature.returns}"
            found.append(Call(directive, text, repeated))
    return tuple(found)


def _modes(
    operator: Operator, declarations: Declarations, is_cut_off: bool
) -> tuple[tuple[str, str], ...]:
    """How derivatives come about, in words; none where the operator has none, or no element of an
    argument is read.
    """
    if is_cut_off:
        return ()
    found = {
        "Reverse mode": reverse_of(operator),
        "Forward mode": forward_of(operator, declarations),
    }
    return tuple((mode, _DERIVATIVES[how]) for mode, how in found.items() if how in _DERIVATIVES)


def _inner(
    way: Sequence[str], declarations: Declarations, homes: dict[str, str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Gradients of operators that have no page to say them, where they are read at a glance."""
    found = []
    for name in way:
        operator = declarations.by_name[name][0]
        formulas = operator.derivative.formulas if operator.derivative is not None else {}
        if name not in homes and not too_long(formulas, {}):
            found.append((name, gradient_latex(operator)))
    return tuple((name, equations) for name, equations in found if equations)


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
