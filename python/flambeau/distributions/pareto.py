"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.exponential import Exponential
from flambeau.distributions.transformed_distribution import FromParameters
from flambeau.distributions.transforms import AffineTransform, ExpTransform, Transform
from flambeau.distributions.utils import Value


class Pareto(FromParameters):
    """The Pareto distribution, from `scale` on, with tail index `alpha`.

    Args:
        scale: the lower end, positive.
        alpha: the tail index, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Pareto
        >>> distribution = Pareto(flambeau.tensor(1.), flambeau.tensor(3.))
        >>> distribution.mean
        tensor(1.5000)
        >>> distribution.log_prob(flambeau.tensor(2.))
        tensor(-1.6740)
    """

    arg_constraints: ClassVar[Any] = {
        "alpha": constraints.positive,
        "scale": constraints.positive,
    }
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Value, alpha: Value, validate_args: bool | None = None) -> None:
        self._begin(validate_args, scale=scale, alpha=alpha)

    def _built(self) -> tuple[Distribution, list[Transform]]:
        base = Exponential(self.alpha, validate_args=False)
        return base, [ExpTransform(), AffineTransform(0, self.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean, infinite where alpha is at most 1."""
        found = self.alpha * self.scale / (self.alpha - 1)
        return found.masked_fill(self.alpha <= 1, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance, infinite where alpha is at most 2."""
        a = self.alpha
        found = self.scale.square() * a / ((a - 1).square() * (a - 2))
        return found.masked_fill(a <= 2, math.inf)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()
