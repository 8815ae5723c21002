"""The half-normal distribution."""

from __future__ import annotations

import math

from flambeau import Tensor
from flambeau.distributions.half import Half
from flambeau.distributions.normal import Normal


class HalfNormal(Half):
    """The distribution of absolute values of normal numbers of mean 0.

    Args:
        scale: the standard deviation of these, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import HalfNormal
        >>> distribution = HalfNormal(flambeau.tensor(1.))
        >>> distribution.mean
        tensor(0.7979)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-0.7258)
    """

    _symmetric = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)
