"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds


class CategoricalOdds(Odds):
    """Distributions whose parameter holds categories along its last dim; it is normalized."""

    _is_binary = False
    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def _normalized(self, probs: Tensor | None, logits: Tensor | None) -> dict[str, Tensor]:
        """The parameter that is given, with probabilities that sum to 1."""
        ((name, value),) = self._given(probs, logits).items()
        if not isinstance(value, Tensor) or value.dim() < 1:
            raise ValueError(
                f"{type(self).__name__}: {name} needs at least one dim, of categories, got {value}"
            )
        if name == "probs":
            return {name: value / value.sum(-1, keepdim=True)}
        return {name: value - value.logsumexp(-1, keepdim=True)}

    @property
    def _num_events(self) -> int:
        return self._given_parameter.shape[-1]


class Categorical(CategoricalOdds):
    """The categorical distribution of the indices 0 to K - 1.

    Args:
        probs: `[..., K]`, weights of the categories, not negative, or
        logits: logarithms of weights.
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both are given, or one without dims.

    Example:
        >>> from flambeau.distributions import Categorical
        >>> Categorical(flambeau.tensor([0.0, 2.0])).sample((3,))
        tensor([1, 1, 1])
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, (), **self._normalized(probs, logits))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def _without_number(self) -> Tensor:
        given = self._given_parameter
        return flambeau.full(self._batch_shape, math.nan, dtype=given.dtype, device=given.device)

    @property
    def mean(self) -> Tensor:
        """NaN: categories have none."""
        return self._without_number()

    @property
    def mode(self) -> Tensor:
        """The most probable category."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN: categories have none."""
        return self._without_number()

    def _draw(self, shape: Size) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        count = math.prod(shape[: len(shape) - len(self._batch_shape)])
        if rows.numel() == 0 or count == 0:
            return flambeau.empty(shape, dtype=flambeau.int64, device=rows.device)
        return flambeau.multinomial(rows, count, True).T.reshape(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        index = value.long().unsqueeze(-1)
        shape = flambeau.broadcast_shapes(index.shape[:-1], self._batch_shape)
        logits = self.logits.expand(*shape, -1)
        return logits.gather(-1, index.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=flambeau.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = flambeau.arange(self._num_events, device=self._given_parameter.device)
        values = values.reshape(-1, *(1 for _ in self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
