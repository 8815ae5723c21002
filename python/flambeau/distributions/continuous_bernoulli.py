"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.utils import Value


class ContinuousBernoulli(Odds, ExponentialFamily):
    """The distribution on [0, 1] of density proportional to probs^x (1 - probs)^(1 - x).

    G. Loaiza-Ganem, J. Cunningham, "The continuous Bernoulli: fixing a pervasive error in
    variational autoencoders", 2019. With t = logits it is an exponential distribution of rate -t
    cut off at 1, of log normalizer log((exp(t) - 1) / t).

    Args:
        probs: in (0, 1), not the mean, or
        logits: log(probs / (1 - probs)).
        lims: where probs lie between them, series serve in place of formulas that cancel.
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.

    Example:
        >>> from flambeau.distributions import ContinuousBernoulli
        >>> distribution = ContinuousBernoulli(flambeau.tensor(0.25))
        >>> distribution.mean
        tensor(0.4102)
        >>> distribution.log_prob(flambeau.tensor(0.5))
        tensor(-0.0498)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Value | None = None,
        logits: Value | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        self._start(validate_args, **self._given(probs, logits))

    def _near_half(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Whether logits are close to 0, and the logits without these, where formulas hold."""
        low, high = (math.log(p / (1 - p)) for p in self._lims)
        near = (logits > low) & (logits < high)
        return near, logits.masked_fill(near, high if high > 0 else 1.0)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        near, t = self._near_half(x)
        size = t.abs()
        # (e^t - 1) / t = e^max(t, 0) (1 - e^-|t|) / |t|.
        exact = t.clamp(min=0) + (-(-size).expm1()).log() - size.log()
        return (x / 2 + x.square() / 24).where(near, exact)

    @property
    def mean(self) -> Tensor:
        near, t = self._near_half(self.logits)
        exact = -1 / (-t).expm1() - 1 / t
        return (0.5 + self.logits / 12).where(near, exact)

    @property
    def variance(self) -> Tensor:
        near, t = self._near_half(self.logits)
        exact = 1 / t.square() - 1 / (2 * (t / 2).sinh()).square()
        return (1 / 12 - self.logits.square() / 240).where(near, exact)

    def _draw(self, shape: Size) -> Tensor:
        given = self._given_parameter
        return self._icdf(flambeau.rand(shape, dtype=given.dtype, device=given.device))

    def _log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - self._log_normalizer(self.logits)

    def _cdf(self, value: Tensor) -> Tensor:
        near, t = self._near_half(self.logits)
        inside = value.clamp(min=0, max=1)
        # From the end where the exponentials are small.
        rising = (t * (inside - 1)).exp() * (-t * inside).expm1() / (-t).expm1()
        falling = (t * inside).expm1() / t.expm1()
        exact = rising.where(t > 0, falling)
        series = inside + self.logits / 2 * inside * (inside - 1)
        return series.where(near, exact)

    def _icdf(self, value: Tensor) -> Tensor:
        near, t = self._near_half(self.logits)
        rising = 1 + (value + (1 - value) * (-t).exp()).log() / t
        falling = (value * t.expm1()).log1p() / t
        exact = rising.where(t > 0, falling)
        series = value + self.logits / 2 * value * (1 - value)
        return series.where(near, exact)

    def entropy(self) -> Tensor:
        return self._log_normalizer(self.logits) - self.logits * self.mean

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)
