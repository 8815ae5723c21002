"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import _C, Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.utils import Value

standard_gamma = _C._internal.standard_gamma


class Gamma(ExponentialFamily):
    """The gamma distribution of mean `concentration / rate`.

    Draws have implicit gradients (M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization
    gradients", 2018).

    Args:
        concentration: the shape, positive.
        rate: positive; it broadcasts with `concentration`.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Gamma
        >>> distribution = Gamma(flambeau.tensor(3.), flambeau.tensor(1.))
        >>> distribution.mean
        tensor(3.)
        >>> distribution.log_prob(flambeau.tensor(2.))
        tensor(-1.3069)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    def __init__(
        self, concentration: Value, rate: Value, validate_args: bool | None = None
    ) -> None:
        self._start(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    def _draw(self, shape: Size) -> Tensor:
        drawn = standard_gamma(self.concentration.expand(shape)) / self.rate
        return drawn.clamp(min=flambeau.finfo(drawn.dtype).tiny)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        powers = flambeau.xlogy(a, rate) + flambeau.xlogy(a - 1, value)
        return powers - rate * value - a.lgamma()

    def _cdf(self, value: Tensor) -> Tensor:
        return flambeau.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return (x + 1).lgamma() - (x + 1) * (-y).log()
