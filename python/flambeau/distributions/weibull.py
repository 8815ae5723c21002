"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.exponential import Exponential
from flambeau.distributions.transformed_distribution import FromParameters
from flambeau.distributions.transforms import AffineTransform, PowerTransform, Transform
from flambeau.distributions.utils import Value, euler_constant


class Weibull(FromParameters):
    """The Weibull distribution: scale * x^(1 / concentration), x standard exponential.

    Args:
        scale: positive.
        concentration: the shape, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Weibull
        >>> distribution = Weibull(flambeau.tensor(1.), flambeau.tensor(2.))
        >>> distribution.mean
        tensor(0.8862)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-0.3069)
    """

    arg_constraints: ClassVar[Any] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, scale: Value, concentration: Value, validate_args: bool | None = None
    ) -> None:
        self._begin(validate_args, scale=scale, concentration=concentration)

    def _built(self) -> tuple[Distribution, list[Transform]]:
        base = Exponential(self.scale.new_ones(self.scale.shape), validate_args=False)
        power = PowerTransform(self.concentration.reciprocal())
        return base, [power, AffineTransform(0, self.scale)]

    def _moment(self, n: int) -> Tensor:
        """The mean of (x / scale)^n."""
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        k = self.concentration.clamp(min=1)
        return self.scale * ((k - 1) / k).pow(1 / k)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def entropy(self) -> Tensor:
        k = self.concentration
        return euler_constant * (1 - 1 / k) + (self.scale / k).log() + 1
