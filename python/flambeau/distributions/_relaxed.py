"""What relaxations of discrete distributions share: draws of logits, and a transform of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from flambeau import Tensor
from flambeau.distributions.transformed_distribution import TransformedDistribution
from flambeau.distributions.transforms.transform import Transform
from flambeau.distributions.utils import Value


class Relaxed(TransformedDistribution):
    """Draws from a distribution of logits, moved into the space of probabilities.

    Subclasses say which one (`_of`) and how (`_transform`).
    """

    _of: ClassVar[Callable[..., Any]]
    _transform: ClassVar[type[Transform]]

    def __init__(
        self,
        temperature: Value,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = type(self)._of(temperature, probs, logits, validate_args)
        super().__init__(base, self._transform(), validate_args=validate_args)

    @property
    def temperature(self) -> Value:
        """The temperature."""
        found: Value = self.base_dist.temperature  # type: ignore[attr-defined]
        return found

    @property
    def logits(self) -> Tensor:
        """Logits of the probabilities; of categories their logarithms."""
        found: Tensor = self.base_dist.logits  # type: ignore[attr-defined]
        return found

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        found: Tensor = self.base_dist.probs  # type: ignore[attr-defined]
        return found
