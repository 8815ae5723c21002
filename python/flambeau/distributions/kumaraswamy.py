"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.transformed_distribution import FromParameters
from flambeau.distributions.transforms import AffineTransform, PowerTransform, Transform
from flambeau.distributions.uniform import Uniform
from flambeau.distributions.utils import Value, euler_constant


class Kumaraswamy(FromParameters):
    """The Kumaraswamy distribution on (0, 1): of cdf 1 - (1 - x^concentration1)^concentration0.

    Args:
        concentration1: positive.
        concentration0: positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Kumaraswamy
        >>> distribution = Kumaraswamy(flambeau.tensor(1.), flambeau.tensor(2.))
        >>> distribution.mean
        tensor(0.3333)
        >>> distribution.log_prob(flambeau.tensor(0.25))
        tensor(0.4055)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Value, concentration0: Value, validate_args: bool | None = None
    ) -> None:
        self._begin(validate_args, concentration1=concentration1, concentration0=concentration0)

    def _built(self) -> tuple[Distribution, list[Transform]]:
        info = flambeau.finfo(self.concentration1.dtype)
        low, high = (flambeau.full_like(self.concentration1, u) for u in (info.tiny, 1 - info.eps))
        powers = [
            PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1)
        ]
        return Uniform(low, high, validate_args=False), [
            powers[0],
            AffineTransform(1.0, -1.0),
            powers[1],
        ]

    def _moment(self, n: int) -> Tensor:
        """The mean of x^n: concentration0 B(1 + n / concentration1, concentration0)."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return (a.lgamma() + b.lgamma() - (a + b).lgamma() + b.log()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """Where the density is highest, NaN where it is at an end."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)).pow(1 / a)
        return found.masked_fill((a < 1) | (b < 1) | (a * b == 1), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        powers = (a - 1).xlogy(value) + flambeau.special.xlog1py(b - 1, -value.pow(a))
        return a.log() + b.log() + powers

    def _cdf(self, value: Tensor) -> Tensor:
        return -(self.concentration0 * (-value.pow(self.concentration1)).log1p()).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        power = -((-value).log1p() / self.concentration0).expm1()
        return power.pow(1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - a.log() - b.log()
