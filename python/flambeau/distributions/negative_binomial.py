"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds
from flambeau.distributions.gamma import standard_gamma
from flambeau.distributions.utils import Value
from flambeau.nn.functional import logsigmoid


class NegativeBinomial(Odds):
    """The negative binomial distribution: how many trials succeed before `total_count` fail.

    Args:
        total_count: number of failures, not negative, not only integers.
        probs: probability of success, in [0, 1), or
        logits: log(probs / (1 - probs)).
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.

    Example:
        >>> from flambeau.distributions import NegativeBinomial
        >>> distribution = NegativeBinomial(3, flambeau.tensor(0.5))
        >>> distribution.mean
        tensor(3.)
        >>> distribution.log_prob(flambeau.tensor(2.))
        tensor(-1.6740)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self,
        total_count: Value,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, **self._given(probs, logits), total_count=total_count)
        self.total_count = self.total_count.to(self._given_parameter.dtype)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / flambeau.sigmoid(-self.logits)

    def _draw(self, shape: Size) -> Tensor:
        rate = standard_gamma(self.total_count.expand(shape)) * self.logits.exp()
        return flambeau.poisson(rate)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        # 0 failures: no success comes before them; lgamma(0) - lgamma(0) is no number.
        choices = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        return powers + choices.masked_fill(n + value == 0, 0.0)
