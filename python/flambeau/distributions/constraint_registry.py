"""From constraints to transforms onto them.

`biject_to(constraint)` gives a bijection from unconstrained numbers, `transform_to(constraint)` a
transform that may not be one to one, but is cheap and keeps gradients well: for optimizing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau._values import brief
from flambeau.distributions import constraints, transforms
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """From types of constraints to functions that make a `distributions.Transform` onto a
    constraint.

    Example:
        >>> from flambeau.distributions import ExpTransform, constraints
        >>> from flambeau.distributions.constraint_registry import ConstraintRegistry
        >>> registry = ConstraintRegistry()
        >>> _ = registry.register(constraints.positive, lambda constraint: ExpTransform())
        >>> registry(constraints.positive)
        ExpTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Registers a function for a constraint's type; without the function, a decorator.

        Args:
            constraint: a type of constraints, or one of them.
            factory: takes a constraint, gives a transform.

        Raises:
            TypeError: `constraint` is neither.
        """
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                f"register: expected a constraint or a type of them, got {brief(constraint)}"
            )
        if factory is None:
            return lambda function: self.register(kind, function)
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """The transform onto a constraint.

        Raises:
            NotImplementedError: none is registered for its type.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform onto {brief(constraint)} is registered")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register_both(constraint: Any, factory: Factory) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _to_half_line(bound: Any, sign: int) -> Transform:
    exp = transforms.ExpTransform()
    return transforms.ComposeTransform([exp, transforms.AffineTransform(bound, sign)])


def _to_positive(constraint: Any) -> Transform:
    lower = constraint.lower_bound
    if isinstance(lower, int | float) and lower == 0:
        return transforms.ExpTransform()
    return _to_half_line(lower, 1)


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


def _each(registry: ConstraintRegistry, parts: Sequence[Constraint]) -> list[Transform]:
    return [registry(c) for c in parts]


def _register_nested(registry: ConstraintRegistry) -> None:
    """Constraints of constraints, with transforms of the same registry."""
    registry.register(
        constraints.independent,
        lambda c: transforms.IndependentTransform(
            registry(c.base_constraint), c.reinterpreted_batch_ndims
        ),
    )
    registry.register(
        constraints.cat,
        lambda c: transforms.CatTransform(_each(registry, c.cseq), c.dim, c.lengths),
    )
    registry.register(
        constraints.stack, lambda c: transforms.StackTransform(_each(registry, c.cseq), c.dim)
    )


_register_nested(biject_to)
_register_nested(transform_to)
_register_both(constraints.real, lambda c: transforms.identity_transform)
_register_both(constraints.greater_than, _to_positive)
_register_both(constraints.greater_than_eq, _to_positive)
_register_both(constraints.less_than, lambda c: _to_half_line(c.upper_bound, -1))
_register_both(constraints.interval, _to_interval)
_register_both(constraints.half_open_interval, _to_interval)
_register_both(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _definite in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_definite, lambda c: transforms.PositiveDefiniteTransform())
