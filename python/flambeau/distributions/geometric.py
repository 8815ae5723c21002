"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds
from flambeau.distributions.utils import Value
from flambeau.nn.functional import softplus


class Geometric(Odds):
    """The geometric distribution: how many trials fail before the first that succeeds.

    Args:
        probs: probability of success, in (0, 1], or
        logits: log(probs / (1 - probs)).
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both are given, or a probability is 0.

    Example:
        >>> from flambeau.distributions import Geometric
        >>> distribution = Geometric(flambeau.tensor(0.25))
        >>> distribution.mean
        tensor(3.)
        >>> distribution.log_prob(flambeau.tensor(3.))
        tensor(-2.2493)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, **self._given(probs, logits))
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(f"{self!r}: probs must be positive, got {self.probs}")

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return flambeau.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def _draw(self, shape: Size) -> Tensor:
        drawn = self.probs.new_empty(shape).exponential_()
        return (drawn / -(-self.probs).log1p()).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        return flambeau.special.xlog1py(value, -self.probs) + self.probs.log()

    def entropy(self) -> Tensor:
        return softplus(self.logits) / self.probs - self.logits
