"""Differentiable maps between sets of values, their inverses and compositions."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.utils import sum_rightmost


class Transform:
    """A map with a log-determinant of its Jacobian.

    A subclass sets `domain` and `codomain`, and defines `_call`; `_inverse`, `log_abs_det_jacobian`
    and `sign` where they exist.

    Args:
        cache_size: 1: the last pair of values is kept, so that inverting a result costs nothing and
            loses no digits; 0: it is not.

    Attributes:
        bijective: whether every value of the codomain has one inverse.
        domain: where arguments lie.
        codomain: where results lie.

    Raises:
        ValueError: `cache_size` is neither 0 nor 1.

    Example:
        >>> from flambeau.distributions import Transform, constraints
        >>> class Cube(Transform):
        ...     domain = codomain = constraints.real
        ...     bijective = True
        ...     sign = 1
        ...     def _call(self, x):
        ...         return x ** 3
        ...     def _inverse(self, y):
        ...         return y.sign() * y.abs() ** (1 / 3)
        >>> Cube()(flambeau.tensor([1., 2.]))
        tensor([1., 8.])
    """

    bijective: Any = False
    domain: Any = constraints.dependent
    codomain: Any = constraints.dependent

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size is 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._last: tuple[Tensor, Tensor] | None = None
        self._inv: weakref.ref[Transform] | None = None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dims make one value, of a map that does not change their number.

        Raises:
            ValueError: it does.
        """
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(
                f"{self!r}: arguments have {self.domain.event_dim} event dims, results "
                f"{self.codomain.event_dim}; ask domain and codomain"
            )
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse map."""
        found = None if self._inv is None else self._inv()
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """Of a monotone map of numbers, the sign of its derivative: 1 or -1."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same map with that cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self).__name__} has no with_cache")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, x: Tensor) -> Tensor:
        """The results, of shape `forward_shape(x.shape)`."""
        if self._last is not None and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        self._keep(x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._last is not None and self._last[1] is y:
            return self._last[0]
        x = self._inverse(y)
        self._keep(x, y)
        return x

    def _keep(self, x: Tensor, y: Tensor) -> None:
        if self._cache_size:
            self._last = x, y

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call()")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute value of the determinant of dy/dx, one per value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results, from that of arguments."""
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments, from that of results."""
        return Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform, which keeps the cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    @property
    def domain(self) -> Constraint:
        return self._forward.codomain

    @property
    def codomain(self) -> Constraint:
        return self._forward.domain

    @property
    def bijective(self) -> bool:
        return self._forward.bijective

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transform:
        return self._forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    def __hash__(self) -> int:
        return hash((_InverseTransform, self._forward))

    def __call__(self, x: Tensor) -> Tensor:
        return self._forward._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._forward(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._forward.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._forward!r})"


class ComposeTransform(Transform):
    """Transforms one after the other, the first of `parts` first.

    Args:
        parts: the transforms; none of them: the identity.
        cache_size: see `Transform`.

    Example:
        >>> from flambeau.distributions import AffineTransform, ComposeTransform, ExpTransform
        >>> transform = ComposeTransform([AffineTransform(0., 2.), ExpTransform()])
        >>> transform(flambeau.tensor([0., 1.]))  # exp(2 x)
        tensor([1.0000, 7.3891])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)
        super().__init__(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((ComposeTransform, *self.parts))

    @property
    def domain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        # Dims that the first parts leave alone may belong to an event of a later one.
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims = max(
                dims + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim
            )
        return _with_event_dim(self.parts[0].domain, dims)

    @property
    def codomain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            gained = part.codomain.event_dim - part.domain.event_dim
            dims = max(dims + gained, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, dims)

    @property
    def bijective(self) -> bool:
        return all(p.bijective for p in self.parts)

    @property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        found = None if self._inv is None else self._inv()
        if found is None:
            found = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv = weakref.ref(found)
            found._inv = weakref.ref(self)
        return found

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return x.new_zeros(x.shape)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims = self.domain.event_dim
        terms = []
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(term, dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return sum(terms[1:], terms[0])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(p) for p in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _with_event_dim(constraint: Constraint, dims: int) -> Constraint:
    missing = dims - constraint.event_dim
    return constraints.independent(constraint, missing) if missing else constraint


identity_transform = ComposeTransform([])
