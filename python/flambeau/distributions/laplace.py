"""The Laplace distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions.location_scale import LocationScale


class Laplace(LocationScale):
    """The Laplace distribution: exponential on both sides of `loc`, with mean distance `scale`.

    Args:
        loc, scale: broadcast against each other, to the batch shape.
        validate_args: check these and values; None: as `set_default_validate_args` says.

    Example:
        >>> from flambeau.distributions import Laplace
        >>> distribution = Laplace(flambeau.tensor(0.), flambeau.tensor(1.))
        >>> distribution.mean
        tensor(0.)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.6931)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def _standard_draw(self, shape: Size) -> Tensor:
        size = self.loc.new_empty(shape).exponential_()
        return flambeau.where(self.loc.new_empty(shape).bernoulli_() == 1, size, -size)

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -z.abs() - math.log(2)

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def _standard_icdf(self, p: Tensor) -> Tensor:
        q = p - 0.5
        return -q.sign() * (-2 * q.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + math.log(2) + self.scale.log()
