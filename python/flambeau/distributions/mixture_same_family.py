"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from flambeau import Size, Tensor
from flambeau._values import brief
from flambeau.distributions import constraints
from flambeau.distributions.categorical import Categorical
from flambeau.distributions.constraints import MixtureSameFamilyConstraint
from flambeau.distributions.distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture whose components are the last batch dim of one distribution.

    Args:
        mixture_distribution: weights of the K components, of the batch.
        component_distribution: the components, with batch shape `[..., K]`.
        validate_args: see `Distribution`.

    Raises:
        ValueError: the mixture is no Categorical, the components no distributions, or their
            batches do not fit.

    Example:
        >>> from flambeau.distributions import Categorical, MixtureSameFamily, Normal
        >>> weights = Categorical(flambeau.tensor([0.5, 0.5]))
        >>> MixtureSameFamily(weights, Normal(flambeau.tensor([-1.0, 3.0]), 1.0)).mean
        tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        mixture, component = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical) or not isinstance(component, Distribution):
            raise ValueError(
                "MixtureSameFamily: expected a Categorical and a Distribution, "
                f"got {brief(mixture)} and {brief(component)}"
            )
        batch, weights = tuple(component.batch_shape), tuple(mixture.batch_shape)
        count = mixture._num_events
        pairs = zip(reversed(weights), reversed(batch[:-1]), strict=False)
        if batch[-1:] != (count,) or any(i != j and 1 not in (i, j) for i, j in pairs):
            raise ValueError(
                f"MixtureSameFamily: components with batch shape {batch} do not fit "
                f"{count} weights with batch shape {weights}"
            )
        self._mixture_distribution = mixture
        self._component_distribution = component
        super().__init__(batch[:-1], component.event_shape, validate_args=validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return False

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._copied(_instance, "_mixture_distribution", "_component_distribution")
        count = self._mixture_distribution._num_events
        shape = Size((*batch_shape, count))
        new._component_distribution = self._component_distribution.expand(shape)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _averaged(self, values: Tensor) -> Tensor:
        """The weighted sum of values of the components."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(*probs.shape, *(1 for _ in self._event_shape))
        return (probs * values).sum(self._component_dim)

    @property
    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self._averaged(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        means = self._component_distribution.mean
        between = (means - self.mean.unsqueeze(self._component_dim)).square()
        return self._averaged(self._component_distribution.variance + between)

    def _draw(self, shape: Size) -> Tensor:
        events = len(self._event_shape)
        batch = shape[: len(shape) - events]
        sample_shape = batch[: len(batch) - len(self._batch_shape)]
        index = self._mixture_distribution.expand(self._batch_shape)._draw(Size(batch))
        drawn = self._component_distribution.sample(sample_shape)
        places = index.reshape(*index.shape, *(1 for _ in range(1 + events)))
        places = places.expand(*batch, 1, *self._event_shape)
        return drawn.gather(self._component_dim, places).squeeze(self._component_dim)

    def _log_prob(self, value: Tensor) -> Tensor:
        components = self._component_distribution.log_prob(value.unsqueeze(self._component_dim))
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (components + weights).logsumexp(-1)

    def _cdf(self, value: Tensor) -> Tensor:
        found = self._component_distribution.cdf(value.unsqueeze(self._component_dim))
        return (found * self._mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n  {self._mixture_distribution!r},\n"
            f"  {self._component_distribution!r})"
        )
