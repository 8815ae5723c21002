"""Sets of values: what parameters and samples of distributions must lie in.

Some names stand for one set, `constraints.positive`; others make one, `constraints.interval(0, 1)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributions._constraint import Constraint
from flambeau.distributions._parts import _Cat, _Stack
from flambeau.distributions.utils import Value

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class _Dependent(Constraint):
    """A set that depends on other values, so that nothing can be checked. Calling it says what is
    known of it.

    Example:
        >>> from flambeau.distributions import constraints
        >>> simplexes = constraints.dependent(is_discrete=False, event_dim=1)
        >>> constraints.is_dependent(simplexes), simplexes.event_dim
        (True, 1)
    """

    def __init__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete", self._is_discrete)

    @property
    def event_dim(self) -> int:
        return self._known("event_dim", self._event_dim)

    def _known(self, name: str, value: Any) -> Any:
        if value is None:
            raise NotImplementedError(f"{name} of a set that depends on other values is not known")
        return value

    def __call__(
        self, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is None else is_discrete,
            event_dim=self._event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("a set that depends on other values cannot be checked")


class dependent_property(property, _Dependent):
    """A property that gives a set, of a class whose set depends on the instance.

    On the class it is itself a set that depends on other values. Used plainly or with what is
    known of it: `@constraints.dependent_property(is_discrete=False, event_dim=1)`.

    Args:
        fn: the getter.
        is_discrete, event_dim: what is known of the set.

    Example:
        >>> from flambeau.distributions import constraints
        >>> class Below:
        ...     def __init__(self, bound):
        ...         self.bound = bound
        ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
        ...     def support(self):
        ...         return constraints.less_than(self.bound)
        >>> Below(2.0).support.check(flambeau.tensor([1.0, 3.0]))
        tensor([ True, False])
        >>> constraints.is_dependent(Below.support), Below.support.event_dim
        (True, 0)
    """

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: bool | None = None,
        event_dim: int | None = None,
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(  # type: ignore[override]
        self, fn: Callable[[Any], Any]
    ) -> dependent_property:
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: object) -> bool:
    """Whether a set depends on other values.

    Args:
        constraint: a set, or a property that gives one.

    Example:
        >>> from flambeau.distributions import Uniform, constraints
        >>> constraints.is_dependent(Uniform.support), constraints.is_dependent(constraints.real)
        (True, False)
    """
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Arrays whose elements each lie in a set.

    Args:
        base_constraint: the set.
        reinterpreted_batch_ndims: how many dims at the end are one value.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.independent(constraints.positive, 1)
        >>> constraint.check(flambeau.tensor([[1., 1.], [1., -1.]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"independent: expected a constraint, got {brief(base_constraint)}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise ValueError(
                f"independent: the number of dims is not negative, got {reinterpreted_batch_ndims}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"{self!r}: expected values of at least {self.event_dim} dims, "
                f"got shape {tuple(value.shape)}"
            )
        return (
            found.flatten(found.dim() - self.reinterpreted_batch_ndims).all(-1)
            if (self.reinterpreted_batch_ndims)
            else found
        )

    def _arguments(self) -> str:
        return f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture, from that of its components: values have no dim of components.

    Args:
        base_constraint: the support of the components.

    Example:
        >>> from flambeau.distributions import constraints
        >>> support = constraints.MixtureSameFamilyConstraint(constraints.positive)
        >>> support.check(flambeau.tensor([2.0, -1.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(
                f"MixtureSameFamilyConstraint: expected a constraint, got {brief(base_constraint)}"
            )
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Whether each value lies in the set of every component: bool, of the shape of `value`
        without its event dims."""
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return found.all(-1)

    def _arguments(self) -> str:
        return repr(self.base_constraint)


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of a single 1 and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Bounded(Constraint):
    """Numbers with bounds, `lower_bound` and `upper_bound`."""

    def __init__(self, lower_bound: Value, upper_bound: Value) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()


class _Above(Constraint):
    """Numbers with a lower bound."""

    def __init__(self, lower_bound: Value) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _IntegerInterval(_Bounded):
    """Integers from `lower_bound` to `upper_bound`.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.integer_interval(0, 3)
        >>> constraint.check(flambeau.tensor([2., 2.5]))
        tensor([ True, False])
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from `lower_bound` on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """Numbers that are not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Above):
    """Numbers above `lower_bound`.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.greater_than(0)
        >>> constraint.check(flambeau.tensor([0., 1.]))
        tensor([False,  True])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from `lower_bound` on.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.greater_than_eq(0)
        >>> constraint.check(flambeau.tensor([0., -1.]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(Constraint):
    """Numbers below `upper_bound`.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.less_than(0)
        >>> constraint.check(flambeau.tensor([0., -1.]))
        tensor([False,  True])
    """

    def __init__(self, upper_bound: Value) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers in [lower_bound, upper_bound].

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.interval(0, 1)
        >>> constraint.check(flambeau.tensor([0.5, 2.]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers in [lower_bound, upper_bound).

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.half_open_interval(0, 1)
        >>> constraint.check(flambeau.tensor([0., 1.]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


def _tolerance(value: Tensor, ulps: int) -> float:
    """1e-6, or some units in the last place of the dtype."""
    return max(1e-6, ulps * flambeau.finfo(value.dtype).eps)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to 1, up to 1e-6 or a few roundings."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < _tolerance(value, 4))


class _Multinomial(Constraint):
    """Vectors of counts that sum to at most `upper_bound`.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.multinomial(3)
        >>> constraint.check(flambeau.tensor([1., 2.]))
        tensor(True)
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def _arguments(self) -> str:
        return ""


class _Matrix(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrix):
    """Square matrices with zeros above the diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_Matrix):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_Matrix):
    """Such with rows of length 1: Cholesky factors of correlation matrices."""

    def check(self, value: Tensor) -> Tensor:
        lengths = flambeau.linalg.vector_norm(value.detach(), dim=-1)
        tolerance = 10 * value.shape[-1] * flambeau.finfo(value.dtype).eps
        return lower_cholesky.check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(_Matrix):
    """Square matrices."""

    def check(self, value: Tensor) -> Tensor:
        is_square = value.dim() >= 2 and value.shape[-2] == value.shape[-1]
        return flambeau.full(value.shape[:-2], is_square, dtype=flambeau.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices, up to 1e-6."""

    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return flambeau.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return (flambeau.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices of positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return flambeau.linalg.cholesky_ex(value).info == 0


dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
