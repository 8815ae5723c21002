"""What a backend must bring: the kernels behind the operators, by how they come about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.codegen.model import ANY_BACKEND, Backend, Declarations, Kind, Operator
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.reach import Reach, has_kernel

# Kinds that compute something; the others are made of operators of these.
COMPUTED = (Kind.POINTWISE, Kind.REDUCTION, Kind.STRUCTURED)


@dataclass(frozen=True, slots=True)
class Primitive:
    """An operator that needs kernels of its own."""

    name: str
    kind: Kind
    kernels: tuple[str, ...]  # as they are registered: the operator's, and its fused gradients'
    exists: bool  # on the backend in question


@dataclass(frozen=True, slots=True)
class Needs:
    """The kernels that some operators and their gradients take on a backend."""

    backend: str
    declared: bool  # else it is a backend outside the tree, which registers what it has
    operators: int  # among which the following are primitive
    primitives: tuple[Primitive, ...]

    def of(self, kind: Kind) -> tuple[Primitive, ...]:
        """Those of a kind."""
        return tuple(p for p in self.primitives if p.kind is kind)


def needs_of(declarations: Declarations, backend: str, operators: Sequence[Operator] = ()) -> Needs:
    """What the backend needs for some operators and all that they are made of, gradients too; for
    every operator where none are given.
    """
    declared = next((b for b in declarations.backends if b.name == backend), None)
    wanted = declarations.operators
    if operators:
        wanted = Reach(declarations).closure(
            operators,
            gradients=True,
            composed=lambda o: o.kind is Kind.COMPOSITE or not _exists(o, declared),
        )
    return Needs(
        backend=backend,
        declared=declared is not None,
        operators=len(wanted),
        primitives=tuple(
            Primitive(o.full_name, o.kind, kernels_of(o, declarations), _exists(o, declared))
            for o in wanted
            if o.kind in COMPUTED and not is_derived(o)
        ),
    )


def is_derived(operator: Operator) -> bool:
    """Whether every backend has a structured operator without a kernel of its own: it is composed
    of others, or of copies, fills and views."""
    return operator.body is not None or ANY_BACKEND in operator.kernels


def kernels_of(operator: Operator, declarations: Declarations) -> tuple[str, ...]:
    """The names that its kernels are registered under."""
    if operator.kind not in COMPUTED:
        return ()
    backward = plan_backward(operator, declarations)
    fused = backward.kernels if backward is not None else ()
    return (operator.identifier, *(f.kernel.name for f in fused))


def _exists(operator: Operator, backend: Backend | None) -> bool:
    """Kernels from formulas are generated for every declared backend."""
    if backend is None:
        return False
    return operator.kind is not Kind.STRUCTURED or has_kernel(operator, backend)
