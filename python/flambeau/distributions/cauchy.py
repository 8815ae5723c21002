"""The Cauchy distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions.location_scale import LocationScale


class Cauchy(LocationScale):
    """The Cauchy distribution of median `loc` and half width at half maximum `scale`. It has no
    mean: NaN; its variance is infinite.

    Args:
        loc, scale: broadcast against each other, to the batch shape.
        validate_args: check these and values; None: as `set_default_validate_args` says.

    Example:
        >>> from flambeau.distributions import Cauchy
        >>> distribution = Cauchy(flambeau.tensor(0.), flambeau.tensor(1.))
        >>> distribution.entropy()
        tensor(2.5310)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.8379)
    """

    @property
    def mean(self) -> Tensor:
        return flambeau.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return flambeau.full_like(self.loc, math.inf)

    def _standard_draw(self, shape: Size) -> Tensor:
        return self.loc.new_empty(shape).cauchy_()

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -math.log(math.pi) - z.square().log1p()

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return z.atan() / math.pi + 0.5

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return (math.pi * (p - 0.5)).tan()

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
