"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau._values import brief
from flambeau.distributions import constraints
from flambeau.distributions.binomial import Binomial
from flambeau.distributions.categorical import CategoricalOdds
from flambeau.distributions.utils import Value


class Multinomial(CategoricalOdds):
    """The multinomial distribution: how often each of K categories comes up in `total_count` draws.

    Args:
        total_count: number of draws, one for the whole batch.
        probs: `[..., K]`, weights of the categories, not negative, or
        logits: logarithms of weights.
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given, or one without dims.
        NotImplementedError: `total_count` is no int.

    Example:
        >>> from flambeau.distributions import Multinomial
        >>> distribution = Multinomial(3, flambeau.tensor([0.25, 0.75]))
        >>> distribution.mean
        tensor([0.7500, 2.2500])
        >>> distribution.log_prob(flambeau.tensor([1., 2.]))
        tensor(-0.8630)
    """

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial: total_count must be an int, got {brief(total_count)}"
            )
        self.total_count = total_count
        self._start(validate_args, **self._normalized(probs, logits))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Tensor:
        count = self.total_count
        probs = self.probs.expand(shape)
        rows = probs.reshape(-1, shape[-1])
        if rows.numel() == 0 or count == 0:
            return flambeau.zeros_like(probs)
        index = flambeau.multinomial(rows, count, True)
        ones = rows.new_ones(index.shape)
        return rows.new_zeros(rows.shape).scatter_add(-1, index, ones).reshape(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = flambeau.broadcast_tensors(self.logits, value)
        # Categories that are impossible and did not come up.
        terms = (logits * value).masked_fill((value == 0) & (logits == -flambeau.inf), 0.0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + terms.sum(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats: from those of the single draws and E[log k!] of every category,
        whose count is binomial."""
        n: Value = self.total_count
        binomial = Binomial(n, probs=self.probs, validate_args=False)
        counts = binomial.enumerate_support()
        factorials = (binomial._log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        draws = n * -(
            self.logits.clamp(min=flambeau.finfo(self.logits.dtype).min) * self.probs
        ).sum(-1)
        return draws - flambeau.lgamma(self.probs.new_tensor(n + 1.0)) + factorials
