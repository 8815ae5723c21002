"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.utils import Value
from flambeau.nn.functional import softplus


class Bernoulli(Odds, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability `probs`, else 0.

    Args:
        probs: probabilities, or
        logits: log(probs / (1 - probs)).
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both are given.

    Example:
        >>> from flambeau.distributions import Bernoulli
        >>> distribution = Bernoulli(flambeau.tensor(0.25))
        >>> distribution.mean
        tensor(0.2500)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.3863)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, **self._given(probs, logits))

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """1 or 0, NaN where both are as probable."""
        return (self.probs > 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Tensor:
        return flambeau.bernoulli(self.probs.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - softplus(self.logits)

    def entropy(self) -> Tensor:
        return softplus(self.logits) - self.probs * self.logits

    def enumerate_support(self, expand: bool = True) -> Tensor:
        given = self._given_parameter
        values = flambeau.arange(2, dtype=given.dtype, device=given.device)
        values = values.reshape(-1, *(1 for _ in self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return softplus(x)
