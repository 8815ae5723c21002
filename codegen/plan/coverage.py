"""What each operator has and lacks: kernels per backend, dtypes, derivatives, documentation, tests.

`coverage_of` is what `ops coverage` prints and what a site of reference pages filters by; `as_json`
is its form for other programs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from flambeau.codegen.model.entries import Backend, Declarations, Kind, Operator
from flambeau.codegen.model.facts import differentiable_arguments, differentiable_results
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.cpp_types import declared_in
from flambeau.codegen.plan.forward import has_forward
from flambeau.codegen.plan.python_signature import forms, qualified_name, qualified_names
from flambeau.codegen.plan.reach import Reach, has_kernel

# How a backend comes to an operator.
GENERATED = "generated"  # kernels from the formula
BY_HAND = "by hand"  # a file in native/
GEOMETRY = "geometry"  # a view: no element is touched
COMPOSED = "composed"  # of other operators
HOST = "on the host"  # the CPU's kernel, on copies
SHAPE_RULE = "shape rule"  # results without data

# How a derivative comes about.
AUTOMATIC = "automatic"  # symbolically, from the formula
FORMULA = "formula"  # declared
MIXED = "automatic and formula"
LINEAR = "linear"  # forward: the operator itself, applied to the tangent
FROM_REVERSE = "from reverse"  # forward: the gradient formula, transposed
ZERO = "zero"
DECLARED_NONE = "none"  # the entry says that there is none
NOT_APPLICABLE = "not applicable"  # no floating or complex argument and result
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Support:
    """An operator on a backend."""

    how: str  # MISSING, or one of the ways above
    lacks: tuple[str, ...]  # operators without a kernel there, among them perhaps itself
    gradient_lacks: tuple[str, ...]  # the same of its gradient formulas


@dataclass(frozen=True, slots=True)
class Row:
    """One operator."""

    name: str  # with the overload: "max.dim"
    title: str  # as users call it: "flambeau.nn.functional.silu"
    family: str
    kind: str
    internal: bool  # used by formulas only
    namespace: str
    variants: tuple[str, ...]
    forms: tuple[str, ...]  # every qualified name: "flambeau.relu", "Tensor.relu_"
    aliases: tuple[str, ...]
    backends: dict[str, Support]
    dtypes: tuple[str, ...]  # what the arguments that decide accept
    converted: tuple[str, ...]  # those of them that are computed in the default floating dtype
    dtypes_follow_body: bool  # a composite that does not say: what its operators accept
    reverse: str
    forward: str
    second_order_lacks: tuple[str, ...]  # operators in gradient formulas that have no gradient
    summary: str
    has_math: bool
    has_example: bool
    has_reference: bool
    samples: int
    properties: int
    extremes: int
    errors: int
    untested_errors: tuple[str, ...]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """All operators of some declarations, in their order."""

    backends: tuple[Backend, ...]
    dtypes: tuple[str, ...]
    rows: tuple[Row, ...]


def coverage_of(declarations: Declarations) -> Coverage:
    """What is there and what is not, operator by operator."""
    reach = Reach(declarations)
    return Coverage(
        backends=declarations.backends,
        dtypes=tuple(d.name for d in declarations.dtypes),
        rows=tuple(
            coverage_of_one(operator, declarations, reach) for operator in declarations.operators
        ),
    )


def as_json(coverage: Coverage) -> dict[str, Any]:
    """The same as dictionaries, lists, strings and numbers; `gaps` says what is missing."""
    return {
        "backends": [{"name": b.name, "emit": b.emit, "doc": b.doc} for b in coverage.backends],
        "dtypes": list(coverage.dtypes),
        "operators": [asdict(row) for row in coverage.rows],
        "gaps": [{"what": gap.what, "operators": list(gap.operators)} for gap in gaps(coverage)],
    }


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that some operators lack."""

    what: str
    operators: tuple[str, ...]
    among: int  # how many operators could lack it


def gaps(coverage: Coverage) -> list[Gap]:
    """Everything that is missing; a line of zero operators says that nothing is."""
    rows = coverage.rows
    public = [row for row in rows if not row.internal]
    differentiable = [r for r in rows if r.reverse not in (NOT_APPLICABLE, DECLARED_NONE)]
    found = []
    for backend in coverage.backends:
        without = tuple(r.name for r in rows if r.backends[backend.name].how == MISSING)
        found.append(Gap(f"no kernel on {backend.name}", without, len(rows)))
        without = tuple(
            r.name
            for r in differentiable
            if r.backends[backend.name].how != MISSING and r.backends[backend.name].gradient_lacks
        )
        found.append(Gap(f"no gradient on {backend.name}", without, len(differentiable)))

    def gap(what: str, among: list[Row], lacking: list[Row]) -> None:
        found.append(Gap(what, tuple(r.name for r in lacking), len(among)))

    gap("no gradient", differentiable, [r for r in differentiable if r.reverse == MISSING])
    gap("no forward mode", differentiable, [r for r in differentiable if r.forward == MISSING])
    gap("no second order", differentiable, [r for r in differentiable if r.second_order_lacks])
    gap("no documentation", public, [r for r in public if not r.summary])
    gap("no example", public, [r for r in public if not r.has_example])
    tested = [r for r in rows if r.forms]
    unproved = [r for r in tested if not r.has_reference and not r.properties]
    gap("neither reference nor properties", tested, unproved)
    gap("no samples", tested, [r for r in tested if not r.samples])
    gap("an error that no test provokes", tested, [r for r in tested if r.untested_errors])
    return found


def coverage_of_one(operator: Operator, declarations: Declarations, reach: Reach) -> Row:
    """The row of one operator."""
    doc, test, rule = operator.doc, operator.test, operator.dtypes
    names = [n for form in forms(operator) for n in qualified_names(operator, form)]
    accepted: frozenset[str] = frozenset().union(*(rule.accepts[name] for name in rule.promote))
    if not operator.tensor_arguments:
        accepted = rule.kernels
    ordered = tuple(d.name for d in declarations.dtypes if d.name in accepted)
    return Row(
        name=operator.full_name,
        title=names[0] if names else qualified_name(operator),
        family=operator.family,
        kind=operator.kind.value,
        internal=operator.internal,
        namespace=operator.namespace,
        variants=tuple(sorted(operator.variants)),
        forms=tuple(names),
        aliases=operator.aliases,
        backends={b.name: _support(operator, b, reach) for b in declarations.backends},
        dtypes=ordered,
        converted=tuple(d for d in ordered if rule.integers_to_float and d not in rule.kernels),
        dtypes_follow_body=operator.kind is Kind.COMPOSITE
        and len(ordered) == len(declarations.dtypes),
        reverse=reverse_of(operator),
        forward=forward_of(operator, declarations),
        second_order_lacks=_without_gradient(operator, reach),
        summary=" ".join(doc.summary.split()),
        has_math=doc.math is not None or operator.kind is Kind.POINTWISE,
        has_example=doc.example is not None,
        has_reference=test.reference is not None,
        samples=len(test.samples),
        properties=len(test.properties),
        extremes=len(test.extremes),
        errors=len(operator.constraints),
        untested_errors=tuple(c.name for c in operator.constraints if c.name not in test.rejects),
        file=declared_in(operator),
        line=operator.span.line,
    )


# Derivatives --------------------------------------------------------------------------------------


def reverse_of(operator: Operator) -> str:
    """How gradients come about."""
    derivative = operator.derivative
    if derivative is not None and derivative.none:
        return DECLARED_NONE
    arguments = differentiable_arguments(operator.signature, operator.dtypes)
    if not arguments or not differentiable_results(operator.signature, operator.dtypes):
        return NOT_APPLICABLE
    if operator.kind is Kind.COMPOSITE:
        return COMPOSED
    if derivative is None:
        return MISSING
    wanted = [a for a in arguments if a not in derivative.excluded]
    if any(a not in derivative.formulas for a in wanted):
        return MISSING
    if not wanted:
        return DECLARED_NONE
    automatic = [a for a in wanted if a in derivative.auto]
    if len(automatic) == len(wanted):
        return AUTOMATIC
    return MIXED if automatic else FORMULA


def forward_of(operator: Operator, declarations: Declarations) -> str:
    """How tangents come about."""
    reverse = reverse_of(operator)
    if reverse in (DECLARED_NONE, NOT_APPLICABLE, COMPOSED, MISSING):
        return reverse
    backward = plan_backward(operator, declarations)
    if backward is None or not has_forward(operator, backward):
        return MISSING
    if operator.forward:
        return FORMULA
    if operator.kind is Kind.POINTWISE:
        return FROM_REVERSE
    return LINEAR if operator.linear_in else ZERO


# Backends -----------------------------------------------------------------------------------------


def _support(operator: Operator, backend: Backend, reach: Reach) -> Support:
    """Whether and how an operator runs on a backend."""
    lacks = reach.lacks(operator, backend)
    how = MISSING if lacks else _way(operator, backend)
    return Support(how, lacks, reach.gradient_lacks(operator, backend))


def _way(operator: Operator, backend: Backend) -> str:
    if operator.kind is Kind.VIEW:
        return GEOMETRY
    if operator.kind is Kind.COMPOSITE:
        return COMPOSED
    if backend.emit == "none":
        return SHAPE_RULE
    if operator.kind is not Kind.STRUCTURED:
        return GENERATED
    if operator.on_host and backend.name not in operator.kernels:
        return HOST
    return BY_HAND if has_kernel(operator, backend) else COMPOSED


def _without_gradient(operator: Operator, reach: Reach) -> tuple[str, ...]:
    """Operators of its gradient formulas that have a floating result and no gradient."""
    return tuple(
        called.full_name
        for called in reach.in_gradients(operator)
        if reverse_of(called) in (DECLARED_NONE, MISSING)
        and differentiable_results(called.signature, called.dtypes)
        and differentiable_arguments(called.signature, called.dtypes)
    )
