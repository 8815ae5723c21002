"""The normal distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.location_scale import LocationScale

_LOG_ROOT = 0.5 * math.log(2 * math.pi)


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    Args:
        loc, scale: broadcast against each other, to the batch shape.
        validate_args: check these and values; None: as `set_default_validate_args` says.

    Example:
        >>> from flambeau.distributions import Normal
        >>> distribution = Normal(flambeau.tensor(0.), flambeau.tensor(1.))
        >>> distribution.sample((2, 3)).shape
        flambeau.Size([2, 3])
        >>> distribution.log_prob(flambeau.tensor(0.))
        tensor(-0.9189)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale.square()

    @property
    def stddev(self) -> Tensor:
        return self.scale

    def _standard_draw(self, shape: Size) -> Tensor:
        return flambeau.randn(shape, dtype=self.loc.dtype, device=self.loc.device)

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -0.5 * z.square() - _LOG_ROOT

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return flambeau.special.ndtr(z)

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return math.sqrt(2) * flambeau.erfinv(2 * p - 1)

    def entropy(self) -> Tensor:
        return 0.5 + _LOG_ROOT + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        precision = self.scale.pow(-2)
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()
