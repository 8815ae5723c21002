"""What a backend must bring: the kernels behind the operators, by how they come about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.codegen.model.entries import ANY_BACKEND, Backend, Declarations, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.derivation import Derivations
from flambeau.codegen.plan.reach import Reach, has_kernel

# Kinds that compute something; the others are made of operators of these.
COMPUTED = (Kind.POINTWISE, Kind.REDUCTION, Kind.STRUCTURED)


@dataclass(frozen=True, slots=True)
class Primitive:
    """An operator that needs a kernel of its own."""

    name: str
    kind: Kind
    exists: bool  # on the backend in question


@dataclass(frozen=True, slots=True)
class Needs:
    """The kernels that some operators and their gradients take on a backend."""

    backend: str
    declared: bool  # else it is a backend outside the tree, which registers what it has
    operators: int  # among which the following are primitive
    primitives: tuple[Primitive, ...]
    composed: tuple[str, ...]  # operators that compute, and run without a kernel of their own
    gradients: int  # kernels of gradients; without them, formulas over tensors serve
    real_only: tuple[str, ...]  # operators that are composed for real numbers, not for complex ones

    def of(self, kind: Kind) -> tuple[Primitive, ...]:
        """Those of a kind."""
        return tuple(p for p in self.primitives if p.kind is kind)


def needs_of(declarations: Declarations, backend: str, operators: Sequence[Operator] = ()) -> Needs:
    """What the backend needs for some operators and all that they are made of, gradients too; for
    every operator where none are given.
    """
    declared = next((b for b in declarations.backends if b.name == backend), None)
    derivations = Derivations(declarations, OperatorIndex(declarations.operators))

    def derived(operator: Operator) -> Sequence[Operator]:
        found = derivations.of(operator)
        return found.calls if found is not None else ()

    wanted = declarations.operators
    if operators:
        wanted = Reach(declarations).closure(
            operators,
            gradients=True,
            composed=lambda o: o.kind is Kind.COMPOSITE or not _exists(o, declared),
            derived=derived,
        )
    computed = [o for o in wanted if o.kind in COMPUTED]
    composed = [o for o in computed if is_composed(o, derivations)]
    return Needs(
        backend=backend,
        declared=declared is not None,
        operators=len(wanted),
        primitives=tuple(
            Primitive(o.full_name, o.kind, _exists(o, declared))
            for o in computed
            if o not in composed
        ),
        composed=tuple(o.full_name for o in composed),
        gradients=sum(len(kernels_of(o, declarations)) - 1 for o in computed),
        real_only=tuple(
            o.full_name for o in composed if (d := derivations.of(o)) is not None and d.real_only
        ),
    )


def is_composed(operator: Operator, derivations: Derivations) -> bool:
    """Whether every backend has an operator that computes without a kernel of its own: it is made
    of others, or of copies, fills and views."""
    is_written = operator.body is not None or ANY_BACKEND in operator.kernels
    return is_written or derivations.of(operator) is not None


def kernels_of(operator: Operator, declarations: Declarations) -> tuple[str, ...]:
    """The names that its kernels are registered under: its own, and its fused gradients'."""
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
