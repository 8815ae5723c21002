"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.location_scale import LocationScale
from flambeau.distributions.utils import Value


class GeneralizedPareto(LocationScale):
    """The generalized Pareto distribution: exceedances over `loc`, of tail index `concentration`.

    Args:
        loc: the lower end.
        scale: positive.
        concentration: the tail index; 0: exponential, below 0: bounded above.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import GeneralizedPareto
        >>> distribution = GeneralizedPareto(0., 1., flambeau.tensor(0.25))
        >>> distribution.mean
        tensor(1.3333)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.1157)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    concentration: Tensor

    def __init__(
        self,
        loc: Value,
        scale: Value,
        concentration: Value,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        upper = end.where(self.concentration < 0, flambeau.full_like(end, math.inf))
        return constraints.interval(self.loc, upper)

    @property
    def mean(self) -> Tensor:
        """The mean, infinite where the concentration is at least 1."""
        found = self.loc + self.scale / (1 - self.concentration)
        return found.masked_fill(self.concentration >= 1, math.inf)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite where the concentration is at least 1/2."""
        k = self.concentration
        found = self.scale.square() / ((1 - k).square() * (1 - 2 * k))
        return found.masked_fill(k >= 0.5, math.inf)

    def _standard_draw(self, shape: Size) -> Tensor:
        return self._from_exponential(self.loc.new_empty(shape).exponential_())

    def _from_exponential(self, x: Tensor) -> Tensor:
        """(exp(k x) - 1) / k, which is x where k is 0."""
        k = self.concentration
        return flambeau.where(k == 0, x, (k * x).expm1() / k.masked_fill(k == 0, 1))

    def _to_exponential(self, z: Tensor) -> Tensor:
        k = self.concentration
        return flambeau.where(k == 0, z, (k * z).log1p() / k.masked_fill(k == 0, 1))

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        found = -(1 + self.concentration) * self._to_exponential(z)
        return found.where(z >= 0, flambeau.full_like(found, -math.inf))

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return -(-self._to_exponential(z.clamp(min=0))).expm1()

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return self._from_exponential(-(-p).log1p())

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than `value`."""
        value = self._checked("log_survival_function", value)
        return -self._to_exponential(((value - self.loc) / self.scale).clamp(min=0))

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of at most `value`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
