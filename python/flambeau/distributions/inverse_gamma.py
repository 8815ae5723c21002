"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.gamma import Gamma
from flambeau.distributions.transformed_distribution import TransformedDistribution
from flambeau.distributions.transforms import PowerTransform
from flambeau.distributions.utils import Value


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x, x gamma distributed.

    Args:
        concentration: the shape, positive.
        rate: positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import InverseGamma
        >>> distribution = InverseGamma(flambeau.tensor(3.), flambeau.tensor(2.))
        >>> distribution.mean
        tensor(1.)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-0.6137)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    base_dist: Gamma

    def __init__(
        self, concentration: Value, rate: Value, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(base.rate.new_tensor(-1.0))
        super().__init__(base, inverse, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """The mean, infinite where the concentration is at most 1."""
        found = self.rate / (self.concentration - 1)
        return found.masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite where the concentration is at most 2."""
        a = self.concentration
        found = self.rate.square() / ((a - 1).square() * (a - 2))
        return found.masked_fill(a <= 2, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
