"""The beta distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.gamma import standard_gamma
from flambeau.distributions.utils import Value


class Beta(ExponentialFamily):
    """The beta distribution of density proportional to x^(concentration1 - 1)
    (1 - x)^(concentration0 - 1) on [0, 1].

    Args:
        concentration1: alpha, positive.
        concentration0: beta, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Beta
        >>> distribution = Beta(flambeau.tensor(2.), flambeau.tensor(3.))
        >>> distribution.mean
        tensor(0.4000)
        >>> distribution.log_prob(flambeau.tensor(0.5))
        tensor(0.4055)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Value, concentration0: Value, validate_args: bool | None = None
    ) -> None:
        self._start(validate_args, concentration1=concentration1, concentration0=concentration0)

    @property
    def _total(self) -> Tensor:
        return self.concentration1 + self.concentration0

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / self._total

    @property
    def mode(self) -> Tensor:
        """Where the density is highest: an end where only one concentration is above 1, NaN where
        both ends are as high."""
        above1, above0 = (
            (self.concentration1 - 1).clamp(min=0),
            (self.concentration0 - 1).clamp(min=0),
        )
        larger = (self.concentration1 > self.concentration0).to(above1.dtype)
        end = larger.masked_fill(self.concentration1 == self.concentration0, math.nan)
        inside = above1 + above0 > 0
        return (above1 / (above1 + above0)).where(inside, end)

    @property
    def variance(self) -> Tensor:
        product = self.concentration1 * self.concentration0
        return product / (self._total.square() * (self._total + 1))

    def _draw(self, shape: Size) -> Tensor:
        log1 = standard_gamma(self.concentration1.expand(shape), is_log=True)
        log0 = standard_gamma(self.concentration0.expand(shape), is_log=True)
        return flambeau.sigmoid(log1 - log0)

    def _log_beta(self) -> Tensor:
        return self.concentration1.lgamma() + self.concentration0.lgamma() - self._total.lgamma()

    def _log_prob(self, value: Tensor) -> Tensor:
        powers = (self.concentration1 - 1).xlogy(value) + flambeau.special.xlog1py(
            self.concentration0 - 1, -value
        )
        return powers - self._log_beta()

    def entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self._total
        return (
            self._log_beta()
            - (a - 1) * a.digamma()
            - (b - 1) * b.digamma()
            + (total - 2) * total.digamma()
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
