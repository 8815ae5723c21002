"""The log-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.normal import Normal
from flambeau.distributions.transformed_distribution import TransformedDistribution
from flambeau.distributions.transforms import ExpTransform
from flambeau.distributions.utils import Value


class LogNormal(TransformedDistribution):
    """The distribution of exponentials of normal numbers.

    Args:
        loc: mean of the logarithm.
        scale: standard deviation of the logarithm, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import LogNormal
        >>> distribution = LogNormal(flambeau.tensor(0.), flambeau.tensor(1.))
        >>> distribution.mean
        tensor(1.6487)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    base_dist: Normal

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """Mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + 0.5 * self.scale.square()).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        return self.scale.square().expm1() * (2 * self.loc + self.scale.square()).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
