"""Distributions of sizes: symmetric ones, folded at 0."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.location_scale import LocationScale
from flambeau.distributions.transformed_distribution import TransformedDistribution
from flambeau.distributions.transforms import AbsTransform
from flambeau.distributions.utils import Value


class Half(TransformedDistribution):
    """The distribution of |x| for a symmetric distribution around 0.

    Args:
        scale: of the symmetric distribution, positive.
        validate_args: see `Distribution`.
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    base_dist: LocationScale
    _symmetric: ClassVar[type[LocationScale]]

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        base = self._symmetric(0.0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the symmetric distribution."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return flambeau.zeros_like(self.scale)

    def _log_prob(self, value: Tensor) -> Tensor:
        found = self.base_dist._log_prob(value) + math.log(2)
        return found.where(value >= 0, flambeau.full_like(found, -math.inf))

    def _cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist._cdf(value) - 1

    def _icdf(self, value: Tensor) -> Tensor:
        return self.base_dist._icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
