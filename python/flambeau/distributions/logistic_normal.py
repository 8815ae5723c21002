"""The logistic normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.independent import Independent
from flambeau.distributions.normal import Normal
from flambeau.distributions.transformed_distribution import TransformedDistribution
from flambeau.distributions.transforms import StickBreakingTransform
from flambeau.distributions.utils import Value


class LogisticNormal(TransformedDistribution):
    """Vectors of K + 1 probabilities, from K normal numbers by stick breaking.

    Args:
        loc: means, `[..., K]`.
        scale: standard deviations, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import LogisticNormal
        >>> distribution = LogisticNormal(flambeau.zeros(2), flambeau.ones(2))
        >>> distribution.sample().shape
        flambeau.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    base_dist: Independent[Normal]

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """Means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self.base_dist.base_dist.scale
