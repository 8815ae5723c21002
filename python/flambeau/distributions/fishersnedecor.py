"""The F distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.gamma import standard_gamma
from flambeau.distributions.utils import Value


class FisherSnedecor(Distribution):
    """The F distribution: of the ratio of two chi-squared variates over their degrees of freedom.

    Args:
        df1: degrees of freedom of the numerator, positive.
        df2: of the denominator.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import FisherSnedecor
        >>> distribution = FisherSnedecor(flambeau.tensor(2.), flambeau.tensor(4.))
        >>> distribution.mean
        tensor(2.)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.2164)
    """

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Value, df2: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        """The mean, infinite where df2 is at most 2."""
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.inf)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite where df2 is at most 4 and the mean finite, else NaN."""
        a, b = self.df1, self.df2
        found = 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4))
        return found.masked_fill(b <= 4, math.inf).masked_fill(b <= 2, math.nan)

    def _draw(self, shape: Size) -> Tensor:
        above, below = (
            standard_gamma((0.5 * df).expand(shape), is_log=True) - df.log()
            for df in (self.df1, self.df2)
        )
        drawn = (above - below).exp()
        return drawn.clamp(min=flambeau.finfo(drawn.dtype).tiny)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = 0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        powers = a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
        return powers - log_beta
