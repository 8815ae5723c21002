"""Families of `loc + scale * z`, with z of a standard distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import Value


class LocationScale(Distribution):
    """What such families share; each defines its standard distribution.

    Args:
        loc: where the distribution lies.
        scale: how wide it is, positive; it broadcasts with `loc`.
        validate_args: see `Distribution`.
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, loc=loc, scale=scale)

    def _standard_draw(self, shape: Size) -> Tensor:
        raise self._lacks("sample")

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        raise self._lacks("log_prob")

    def _standard_cdf(self, z: Tensor) -> Tensor:
        raise self._lacks("cdf")

    def _standard_icdf(self, p: Tensor) -> Tensor:
        raise self._lacks("icdf")

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _draw(self, shape: Size) -> Tensor:
        return self.loc + self.scale * self._standard_draw(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._standard_log_prob((value - self.loc) / self.scale) - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return self._standard_cdf((value - self.loc) / self.scale)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self._standard_icdf(value)
