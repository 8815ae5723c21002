"""What all sets of values are."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: whether its values are integers.
        event_dim: how many of the last dims make one value: 0 of numbers, 1 of vectors, 2 of
            matrices.

    Example:
        >>> from flambeau.distributions import constraints
        >>> class Even(constraints.Constraint):
        ...     is_discrete = True
        ...     def check(self, value):
        ...         return value % 2 == 0
        >>> Even().check(flambeau.tensor([1., 2.]))
        tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value lies in the set: bool, of the shape of `value` without its last
        `event_dim` dims."""
        raise NotImplementedError(f"{type(self).__name__} does not define check()")

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}({self._arguments()})"

    def _arguments(self) -> str:
        bounds = ("lower_bound", "upper_bound")
        return ", ".join(f"{b}={getattr(self, b)}" for b in bounds if hasattr(self, b))
