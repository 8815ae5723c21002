"""Maps made of others, or of shapes and distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.transforms.transform import Transform
from flambeau.distributions.utils import sum_rightmost


class IndependentTransform(Transform):
    """A transform whose batch dims become part of its values.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: how many more of the last dims make one value.
        cache_size: see `Transform`.

    Example:
        >>> from flambeau.distributions import ExpTransform, IndependentTransform
        >>> transform = IndependentTransform(ExpTransform(), 1)
        >>> x = flambeau.tensor([1., 2.])
        >>> transform.log_abs_det_jacobian(x, transform(x))  # summed over the last dimension
        tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @property
    def domain(self) -> Constraint:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        self._check(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._check(y, self.codomain)
        return self.base_transform.inv(y)

    def _check(self, value: Tensor, constraint: Constraint) -> None:
        if value.dim() < constraint.event_dim:
            raise ValueError(
                f"{self!r}: expected at least {constraint.event_dim} dims, "
                f"got shape {tuple(value.shape)}"
            )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(found, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The last dims as another shape of as many elements.

    Args:
        in_shape: the shape of arguments without batch dims.
        out_shape: the shape of results.
        cache_size: see `Transform`.

    Raises:
        ValueError: the shapes have not as many elements.

    Example:
        >>> from flambeau.distributions import ReshapeTransform
        >>> transform = ReshapeTransform((4,), (2, 2))
        >>> y = transform(flambeau.arange(4.))
        >>> y
        tensor([[0., 1.],
                [2., 3.]])
        >>> transform.inv(y)
        tensor([0., 1., 2., 3.])
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                "ReshapeTransform: the shapes have different numbers of elements: "
                f"{tuple(self.in_shape)} and {tuple(self.out_shape)}"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._replaced(shape, self.out_shape, self.in_shape)

    def _replaced(self, shape: Sequence[int], old: Size, new: Size) -> Size:
        cut = len(shape) - len(old)
        if cut < 0 or tuple(shape[cut:]) != tuple(old):
            raise ValueError(
                f"{self!r}: expected a shape that ends in {tuple(old)}, got {tuple(shape)}"
            )
        return Size((*shape[:cut], *new))


class CumulativeDistributionTransform(Transform):
    """y = cdf(x), uniform numbers of draws from the distribution.

    Args:
        distribution: of numbers, with `cdf` and `icdf`.
        cache_size: see `Transform`.

    Example:
        >>> from flambeau.distributions import CumulativeDistributionTransform
        >>> transform = CumulativeDistributionTransform(flambeau.distributions.Normal(0., 1.))
        >>> y = transform(flambeau.tensor([0., 1.]))
        >>> y
        tensor([0.5000, 0.8413])
        >>> transform.log_abs_det_jacobian(flambeau.tensor([0., 1.]), y)
        tensor([-0.9189, -1.4189])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:
        return self.distribution.support

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


class _Parts(Transform):
    """Transforms, each of its own part of a dim.

    Attributes:
        transforms: the transforms, in order.
        dim: the dim.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise TypeError(f"{type(self).__name__}: expected transforms, got {list(tseq)}")
        self.dim = dim
        super().__init__(cache_size=cache_size)

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _split(self, value: Tensor) -> list[Tensor]:
        """The part of each transform."""
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _check_dim(self, value: Tensor, size: int) -> None:
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != size:
            raise ValueError(
                f"{self!r}: expected {size} elements along dim {self.dim}, "
                f"got shape {tuple(value.shape)}"
            )

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(v) for t, v in zip(self.transforms, self._split(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(v) for t, v in zip(self.transforms, self._split(y), strict=True)])

    def _log_determinants(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in parts]


class CatTransform(_Parts):
    """Transforms of parts of several lengths along a dim, as of a concatenation.

    Args:
        tseq: the transforms.
        dim: the dim.
        lengths: the length of each part; None: 1 each.
        cache_size: see `Transform`.

    Example:
        >>> from flambeau.distributions import AffineTransform, CatTransform, ExpTransform
        >>> transform = CatTransform([ExpTransform(), AffineTransform(0., 2.)], lengths=[1, 2])
        >>> transform(flambeau.tensor([0., 1., 2.]))
        tensor([1., 2., 4.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"CatTransform: expected a length per transform, got {len(self.lengths)} lengths "
                f"for {len(self.transforms)} transforms"
            )

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """Of all parts together."""
        return sum(self.lengths)

    @property
    def domain(self) -> Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Tensor) -> list[Tensor]:
        self._check_dim(value, self.length)
        return list(value.split(self.lengths, self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return flambeau.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = [
            sum_rightmost(d, self.event_dim - t.event_dim)
            for t, d in zip(self.transforms, self._log_determinants(x, y), strict=True)
        ]
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return flambeau.cat(terms, dim) if dim < 0 else sum(terms[1:], terms[0])


class StackTransform(_Parts):
    """Transforms of the slices along a dim.

    Args:
        tseq: the transforms, one per slice.
        dim: the dim.
        cache_size: see `Transform`.

    Example:
        >>> from flambeau.distributions import AffineTransform, ExpTransform, StackTransform
        >>> transform = StackTransform([ExpTransform(), AffineTransform(0., 2.)])
        >>> transform(flambeau.tensor([[0., 0.], [1., 1.]]))
        tensor([[1., 1.],
                [2., 2.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @property
    def domain(self) -> Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, value: Tensor) -> list[Tensor]:
        self._check_dim(value, len(self.transforms))
        return list(value.unbind(self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return flambeau.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return flambeau.stack(self._log_determinants(x, y), self.dim)
