"""Distributions of transformed draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from flambeau import Size, Tensor
from flambeau._values import brief
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.independent import Independent
from flambeau.distributions.transforms import ComposeTransform, Transform
from flambeau.distributions.utils import Value, broadcast_all, sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of draws from a base that went through transforms.

    The density follows from the base's and the determinants of the Jacobians.

    Args:
        base_distribution: the base.
        transforms: a transform, or several, the first one first.
        validate_args: see `Distribution`.

    Raises:
        ValueError: `transforms` are none, or draws of the base have too few dims for them.

    Example:
        >>> from flambeau.distributions import ExpTransform, Normal, TransformedDistribution
        >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), ExpTransform())
        >>> log_normal.log_prob(flambeau.tensor(1.0))
        tensor(-0.9189)
    """

    base_dist: Distribution
    transforms: list[Transform]

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"{type(self).__name__}: expected transforms, got {brief(transforms)}")
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"{type(self).__name__}: draws of the base need at least "
                f"{whole.domain.event_dim} dims, got shape {tuple(shape)}"
            )
        # The base is made as large as the results, and its batch dims that the transforms read
        # together become event dims.
        forward_shape = whole.forward_shape(shape)
        larger = whole.inverse_shape(forward_shape)
        event_dims = len(base_distribution.event_shape)
        if larger != shape:
            base_distribution = base_distribution.expand(larger[: len(larger) - event_dims])
        missing = whole.domain.event_dim - event_dims
        if missing > 0:
            base_distribution = Independent(base_distribution, missing)
        self.base_dist = base_distribution
        at = len(forward_shape) - whole.codomain.event_dim - max(-missing, 0)
        super().__init__(forward_shape[:at], forward_shape[at:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._copied(_instance, "base_dist")
        new.transforms = self.transforms
        shape = ComposeTransform(self.transforms).inverse_shape(
            Size(batch_shape) + self._event_shape
        )
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self._event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._through(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def _back(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return value

    def _log_prob(self, value: Tensor) -> Tensor:
        dims = len(self._event_shape)
        total: Tensor | float = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            determinant = transform.log_abs_det_jacobian(before, value)
            total = total - sum_rightmost(determinant, dims - transform.domain.event_dim)
            value = before
        base = self.base_dist.log_prob(value)
        return total + sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _turned(self, probability: Tensor) -> Tensor:
        """A probability of the base as one of the results, and the other way: 1 minus it where the
        transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign * (probability - 0.5) + 0.5

    def _cdf(self, value: Tensor) -> Tensor:
        return self._turned(self.base_dist.cdf(self._back(value)))

    def _icdf(self, value: Tensor) -> Tensor:
        return self._through(self.base_dist.icdf(self._turned(value)))


class FromParameters(TransformedDistribution):
    """A transformed distribution that follows from parameters of numbers, which it keeps."""

    def _begin(self, validate_args: bool | None, **parameters: Value) -> None:
        """Keeps the parameters as attributes and builds the distribution from them."""
        self.__dict__.update(zip(parameters, broadcast_all(*parameters.values()), strict=True))
        base, transforms = self._built()
        TransformedDistribution.__init__(self, base, transforms, validate_args=validate_args)

    def _built(self) -> tuple[Distribution, list[Transform]]:
        """The base and the transforms."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._copied(_instance, "base_dist")
        for name, value in self._parameters().items():
            new.__dict__[name] = value.expand(tuple(batch_shape))
        base, transforms = new._built()
        TransformedDistribution.__init__(new, base, transforms, validate_args=False)
        new._validate_args = self._validate_args
        return new
