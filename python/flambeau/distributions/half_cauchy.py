"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor
from flambeau.distributions.cauchy import Cauchy
from flambeau.distributions.half import Half


class HalfCauchy(Half):
    """The distribution of absolute values of Cauchy numbers of median 0; its mean is infinite.

    Args:
        scale: their half width at half maximum, which is the median, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import HalfCauchy
        >>> distribution = HalfCauchy(flambeau.tensor(1.))
        >>> distribution.entropy()
        tensor(1.8379)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.1447)
    """

    _symmetric = Cauchy

    @property
    def mean(self) -> Tensor:
        return flambeau.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
