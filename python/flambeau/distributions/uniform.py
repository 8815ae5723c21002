"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import Value


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Args:
        low: the lower end.
        high: the upper end, above `low`.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Uniform
        >>> distribution = Uniform(flambeau.tensor(0.), flambeau.tensor(4.))
        >>> distribution.mean
        tensor(2.)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.3863)
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Value, high: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        """That `low` is below `high`."""
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def _width(self) -> Tensor:
        return self.high - self.low

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        return flambeau.full_like(self.low, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._width.square() / 12

    def _draw(self, shape: Size) -> Tensor:
        drawn = flambeau.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + self._width * drawn

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = (self.low <= value) & (value < self.high)
        return inside.to(self.low.dtype).log() - self._width.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / self._width).clamp(min=0, max=1)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.low + self._width * value

    def entropy(self) -> Tensor:
        return self._width.log()
