"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._odds import Odds
from flambeau.distributions._relaxed import Relaxed
from flambeau.distributions.transforms import SigmoidTransform
from flambeau.distributions.utils import Value, clamp_probs
from flambeau.nn.functional import softplus

_CONSTRAINTS = {"probs": constraints.unit_interval, "logits": constraints.real}


class LogitRelaxedBernoulli(Odds):
    """Logits of relaxed Bernoulli draws: (logits + logistic noise) / temperature.

    C. Maddison, A. Mnih, Y. Teh, "The concrete distribution", 2016; E. Jang, S. Gu, B. Poole,
    "Categorical reparameterization with Gumbel-softmax", 2016.

    Args:
        temperature: positive; the closer to 0, the closer draws are to 0 and 1.
        probs: probabilities, or
        logits: log(probs / (1 - probs)).
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.
    """

    arg_constraints: ClassVar[Any] = _CONSTRAINTS
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Value,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._temperature = (temperature,)
        self._start(validate_args, **self._given(probs, logits))

    @property
    def temperature(self) -> Value:
        """The temperature."""
        return self._temperature[0]

    def _draw(self, shape: Size) -> Tensor:
        u = clamp_probs(flambeau.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        return (self.logits + u.logit()) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self.logits - value * self.temperature
        return flambeau.as_tensor(self.temperature).log() + x - 2 * softplus(x)


class RelaxedBernoulli(Relaxed):
    """A continuous relaxation of the Bernoulli distribution on (0, 1), whose draws have gradients.

    Args:
        temperature: positive; the closer to 0, the closer draws are to 0 and 1.
        probs: probabilities, or
        logits: log(probs / (1 - probs)).
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.

    Example:
        >>> from flambeau.distributions import RelaxedBernoulli
        >>> distribution = RelaxedBernoulli(
        ...     flambeau.tensor(0.5), flambeau.tensor(0.25)
        ... )
        >>> distribution.rsample((4,)).shape
        flambeau.Size([4])
        >>> distribution.log_prob(flambeau.tensor(0.5))
        tensor(-0.9808)
    """

    arg_constraints: ClassVar[Any] = _CONSTRAINTS
    support = constraints.unit_interval
    _of = LogitRelaxedBernoulli
    _transform = SigmoidTransform
