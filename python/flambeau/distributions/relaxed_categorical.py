"""Continuous relaxations of the categorical distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._relaxed import Relaxed
from flambeau.distributions.categorical import CategoricalOdds
from flambeau.distributions.transforms import ExpTransform
from flambeau.distributions.utils import Value, clamp_probs


class ExpRelaxedCategorical(CategoricalOdds):
    """Logarithms of relaxed one-hot vectors: log-softmax of (logits + Gumbel noise) / temperature.

    C. Maddison, A. Mnih, Y. Teh, "The concrete distribution", 2016; E. Jang, S. Gu, B. Poole,
    "Categorical reparameterization with Gumbel-softmax", 2016.

    Args:
        temperature: positive; the closer to 0, the closer draws are to one-hot vectors.
        probs: `[..., K]`, weights of the categories, or
        logits: logarithms of weights.
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Value,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._temperature = (temperature,)
        self._start(validate_args, **self._normalized(probs, logits))

    @property
    def temperature(self) -> Value:
        """The temperature."""
        return self._temperature[0]

    def _draw(self, shape: Size) -> Tensor:
        u = clamp_probs(flambeau.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        return ((self.logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        size = self._num_events
        temperature = flambeau.as_tensor(self.temperature, dtype=self.logits.dtype)
        scores = (self.logits - value * temperature).log_softmax(-1).sum(-1)
        return scores + math.lgamma(size) + (size - 1) * temperature.log()


class RelaxedOneHotCategorical(Relaxed):
    """A continuous relaxation of one-hot vectors inside the simplex, whose draws have gradients.

    Args:
        temperature: positive; the closer to 0, the closer draws are to one-hot vectors.
        probs: `[..., K]`, weights of the categories, or
        logits: logarithms of weights.
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both of probs and logits are given.

    Example:
        >>> from flambeau.distributions import RelaxedOneHotCategorical
        >>> distribution = RelaxedOneHotCategorical(0.5, flambeau.tensor([0.25, 0.75]))
        >>> distribution.rsample().shape
        flambeau.Size([2])
        >>> distribution.log_prob(flambeau.tensor([0.5, 0.5]))
        tensor(-0.9808)
    """

    arg_constraints: ClassVar[Any] = CategoricalOdds.arg_constraints
    support = constraints.simplex
    _of = ExpRelaxedCategorical
    _transform = ExpTransform
