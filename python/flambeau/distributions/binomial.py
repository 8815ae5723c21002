"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds
from flambeau.distributions.utils import Value
from flambeau.nn.functional import softplus


class Binomial(Odds):
    """The binomial distribution: how many of `total_count` trials succeed.

    Args:
        total_count: numbers of trials.
        probs: probabilities of success, or
        logits: log(probs / (1 - probs)).
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.

    Example:
        >>> from flambeau.distributions import Binomial
        >>> distribution = Binomial(4, flambeau.tensor(0.5))
        >>> distribution.mean
        tensor(2.)
        >>> distribution.log_prob(flambeau.tensor(2.))
        tensor(-0.9808)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: Value = 1,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, **self._given(probs, logits), total_count=total_count)
        self.total_count = self.total_count.to(self._given_parameter.dtype)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Tensor:
        return flambeau.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return choices + value * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        """The entropy in nats, as a sum over all values.

        Raises:
            NotImplementedError: the numbers of trials differ.
        """
        values = self.enumerate_support()
        log_probs = self._log_prob(values)
        return -(log_probs.exp() * log_probs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values.

        Raises:
            NotImplementedError: the numbers of trials differ.
        """
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(
                "Binomial.enumerate_support: expected as many trials in the whole batch, "
                f"got {self.total_count}"
            )
        given = self._given_parameter
        values = flambeau.arange(1 + most, dtype=given.dtype, device=given.device)
        values = values.reshape(-1, *(1 for _ in self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
