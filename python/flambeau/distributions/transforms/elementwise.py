"""Maps of numbers, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.transforms.transform import Transform
from flambeau.distributions.utils import Value, sum_rightmost
from flambeau.nn.functional import softplus


class _Parameterless(Transform):
    """Two of a class are the same map."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class _Increasing(_Parameterless):
    bijective = True
    sign = 1


class ExpTransform(_Increasing):
    """y = exp(x).

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import ExpTransform
        >>> transform = ExpTransform()
        >>> y = transform(flambeau.tensor([0., 1.]))
        >>> y
        tensor([1.0000, 2.7183])
        >>> transform.log_abs_det_jacobian(flambeau.tensor([0., 1.]), y)
        tensor([0., 1.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept inside (0, 1); x = log(y / (1 - y)).

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import SigmoidTransform
        >>> transform = SigmoidTransform()
        >>> y = transform(flambeau.tensor([0., 2.]))
        >>> y
        tensor([0.5000, 0.8808])
        >>> transform.log_abs_det_jacobian(flambeau.tensor([0., 2.]), y)
        tensor([-1.3863, -2.2539])
    """

    domain = constraints.real
    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        info = flambeau.finfo(x.dtype)
        return x.sigmoid().clamp(min=info.tiny, max=1 - info.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        info = flambeau.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)).

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import SoftplusTransform
        >>> transform = SoftplusTransform()
        >>> y = transform(flambeau.tensor([0., 1.]))
        >>> y
        tensor([0.6931, 1.3133])
        >>> transform.log_abs_det_jacobian(flambeau.tensor([0., 1.]), y)
        tensor([-0.6931, -0.3133])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x).

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import TanhTransform
        >>> transform = TanhTransform()
        >>> y = transform(flambeau.tensor([0., 1.]))
        >>> y
        tensor([0.0000, 0.7616])
        >>> transform.log_abs_det_jacobian(flambeau.tensor([0., 1.]), y)
        tensor([ 0.0000, -0.8676])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2) without cancellation.
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(_Parameterless):
    """y = |x|; the inverse is y itself.

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import AbsTransform
        >>> transform = AbsTransform()
        >>> y = transform(flambeau.tensor([-1., 2.]))
        >>> y
        tensor([1., 2.])
        >>> transform.inv(y)
        tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    Args:
        exponent: broadcasts with x.
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import PowerTransform
        >>> transform = PowerTransform(flambeau.tensor(2.))
        >>> y = transform(flambeau.tensor([1., 3.]))
        >>> y
        tensor([1., 9.])
        >>> transform.inv(y)
        tensor([1., 3.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Value, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else flambeau.tensor(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def __hash__(self) -> int:
        return hash(PowerTransform)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return flambeau.broadcast_shapes(tuple(shape), self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc: tensor or number.
        scale: tensor or number, not 0.
        event_dim: how many dims make one value.
        cache_size: see `Transform`.

    Example:
        >>> from flambeau.distributions import AffineTransform
        >>> transform = AffineTransform(loc=1., scale=2.)
        >>> y = transform(flambeau.tensor([0., 1.]))
        >>> y
        tensor([1., 3.])
        >>> transform.inv(y)
        tensor([0., 1.])
    """

    bijective = True

    def __init__(self, loc: Value, scale: Value, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return _real(self._event_dim)

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return 1 if self.scale > 0 else -1 if self.scale < 0 else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    def __hash__(self) -> int:
        return hash(AffineTransform)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            per_number = self.scale.abs().log().expand(x.shape)
        else:
            per_number = flambeau.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(per_number, self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return flambeau.broadcast_shapes(
            tuple(shape), getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape


def _real(event_dim: int) -> Constraint:
    return constraints.independent(constraints.real, event_dim) if event_dim else constraints.real


def _same(a: Value, b: Value) -> bool:
    return bool((flambeau.as_tensor(a) == flambeau.as_tensor(b)).all())
