"""Distributions that take either probabilities or logits."""

from __future__ import annotations

from typing import ClassVar

from flambeau import Size, Tensor
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import Value, lazy_property, logits_to_probs, probs_to_logits


class Odds(Distribution):
    """What they share: the one follows from the other when it is asked for."""

    _is_binary: ClassVar[bool] = True

    def _given(self, probs: Value | None, logits: Value | None) -> dict[str, Value]:
        """The one that is given.

        Raises:
            ValueError: none or both are.
        """
        given = {n: v for n, v in (("probs", probs), ("logits", logits)) if v is not None}
        if len(given) != 1:
            names = " and ".join(given) or "neither"
            raise ValueError(f"{type(self).__name__}: expected probs or logits, got {names}")
        return given

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @lazy_property
    def logits(self) -> Tensor:
        """Logits of the probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @property
    def _given_parameter(self) -> Tensor:
        """Probabilities or logits, whichever there is."""
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._given_parameter.size()
