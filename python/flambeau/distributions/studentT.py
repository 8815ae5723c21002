"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.gamma import standard_gamma
from flambeau.distributions.location_scale import LocationScale
from flambeau.distributions.utils import Value


class StudentT(LocationScale):
    """Student's t distribution with `df` degrees of freedom, moved by `loc` and stretched by
    `scale`.

    Args:
        df: degrees of freedom, positive.
        loc: the middle.
        scale: positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import StudentT
        >>> distribution = StudentT(flambeau.tensor(3.))
        >>> distribution.mean
        tensor(0.)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.5763)
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    df: Tensor

    def __init__(
        self,
        df: Value,
        loc: Value = 0.0,
        scale: Value = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self) -> Tensor:
        found = self.scale.square() * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def _standard_draw(self, shape: Size) -> Tensor:
        normal = flambeau.randn(shape, dtype=self.df.dtype, device=self.df.device)
        half = 0.5 * self.df
        log_mean = standard_gamma(half.expand(shape), is_log=True) - half.log()
        return normal * (-0.5 * log_mean).exp()

    def _log_normalizer(self) -> Tensor:
        half = 0.5 * self.df
        return half.lgamma() - (half + 0.5).lgamma() + 0.5 * (math.pi * self.df).log()

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -0.5 * (self.df + 1) * (z.square() / self.df).log1p() - self._log_normalizer()

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        tail = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + tail + self._log_normalizer()
