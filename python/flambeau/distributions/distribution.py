"""What all distributions are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import flambeau
from flambeau import Size, Tensor
from flambeau._values import brief
from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.utils import Value, as_tensors, lazy_property


class Distribution:
    """A probability distribution, or a batch of independent ones.

    A distribution outside the library sets `arg_constraints`, `support` and `has_rsample`, gives
    its shapes to `__init__`, and overrides `rsample` (or `sample`), `log_prob` and what else it
    has. What is not defined raises NotImplementedError.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one draw: () of numbers.
        validate_args: whether parameters and values are checked; None: see
            `set_default_validate_args`.

    Raises:
        ValueError: a parameter lies outside its constraint.

    Example:
        >>> distribution = flambeau.distributions.Normal(flambeau.zeros(3), 1.)
        >>> distribution.batch_shape, distribution.event_shape
        (flambeau.Size([3]), flambeau.Size([]))
        >>> distribution.sample((2,)).shape
        flambeau.Size([2, 3])
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample: ClassVar[bool] = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values unless they are told otherwise: at the
        start they do, but under `python -O`.

        Raises:
            ValueError: `value` is no bool.
        """
        if not isinstance(value, bool):
            raise ValueError(f"set_default_validate_args: expected a bool, got {brief(value)}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _start(
        self,
        validate_args: bool | None,
        event_shape: Sequence[int] | None = None,
        /,
        **parameters: Value,
    ) -> None:
        """Begins a distribution: broadcasts its parameters, whose last `event_dim` dims belong
        together, and keeps them as attributes. `event_shape` None: the event dims of the first."""
        names = list(parameters)
        values = as_tensors(*parameters.values())
        dims = [0 if (c := self._constraint(n)) is None else c.event_dim for n in names]
        for name, value, dim in zip(names, values, dims, strict=True):
            if value.dim() < dim:
                raise ValueError(
                    f"{type(self).__name__}: {name} needs at least {dim} dims, "
                    f"got shape {tuple(value.shape)}"
                )
        parts = [_split(v, d) for v, d in zip(values, dims, strict=True)]
        try:
            batch_shape = flambeau.broadcast_shapes(*(batch for batch, _ in parts))
        except RuntimeError as error:
            shapes = ", ".join(f"{n} {tuple(v.shape)}" for n, v in zip(names, values, strict=True))
            message = f"{type(self).__name__}: parameters do not broadcast: {shapes}"
            raise ValueError(message) from error
        for name, value, (_, event) in zip(names, values, parts, strict=True):
            self.__dict__[name] = value.expand(batch_shape + event)
        Distribution.__init__(
            self, batch_shape, parts[0][1] if event_shape is None else event_shape, validate_args
        )

    def _constraint(self, name: str) -> Constraint | None:
        """The constraint of a parameter, unless it depends on others."""
        declared = type(self).arg_constraints
        found = declared.get(name) if isinstance(declared, Mapping) else None
        return None if found is None or constraints.is_dependent(found) else found

    def _parameters(self) -> dict[str, Tensor]:
        """The parameters that are there: of two that follow from each other perhaps only one."""
        return {n: self.__dict__[n] for n in self.arg_constraints if n in self.__dict__}

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            kind = getattr(type(self), name, None)
            if constraints.is_dependent(constraint) or (
                name not in self.__dict__ and isinstance(kind, lazy_property)
            ):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"{self!r}: parameter {name} of shape {tuple(value.shape)} does not satisfy "
                    f"{constraint!r}: {value}"
                )

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one distribution."""
        return self._event_shape

    @property
    def support(self) -> Any:
        """The constraint that draws satisfy."""
        raise self._lacks("support")

    @property
    def mean(self) -> Tensor:
        """The mean, of shape `batch_shape + event_shape`."""
        raise self._lacks("mean")

    @property
    def mode(self) -> Tensor:
        """Where the density is highest, of shape `batch_shape + event_shape`; NaN where there is
        no such place."""
        raise self._lacks("mode")

    @property
    def variance(self) -> Tensor:
        """The variance, of shape `batch_shape + event_shape`."""
        raise self._lacks("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, of shape `batch_shape + event_shape`."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws without gradients, of shape `sample_shape + batch_shape + event_shape`."""
        with flambeau.no_grad():
            if type(self)._draw is Distribution._draw:
                return self.rsample(sample_shape)
            return self._draw(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws that gradients flow through to the parameters, of shape
        `sample_shape + batch_shape + event_shape`. Distributions with `has_rsample` have it."""
        if not self.has_rsample:
            raise self._lacks("rsample")
        return self._draw(self._extended_shape(sample_shape))

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`; of the shape that
        `value` and the batch broadcast to, without event dims.

        Raises:
            ValueError: `value` has no fitting shape or lies outside the support, and arguments
                are checked.
        """
        return self._log_prob(self._checked("log_prob", value))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`.

        Raises:
            ValueError: as for `log_prob`.
        """
        return self._cdf(self._checked("cdf", value))

    def icdf(self, value: Tensor) -> Tensor:
        """The number that a draw stays below with probability `value`."""
        return self._icdf(value)

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`."""
        raise self._lacks("entropy")

    def perplexity(self) -> Tensor:
        """e to the power of the entropy, of shape `batch_shape`."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, of shape `(count,) + batch_shape + event_shape`.

        Args:
            expand: whether the values are repeated over the batch, whose dims are else 1.
        """
        raise self._lacks("enumerate_support")

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution with a larger batch, over the memory of the parameters.

        Args:
            batch_shape: a shape that the batch broadcasts to.
            _instance: of classes that override this method and begin the instance themselves.

        Raises:
            NotImplementedError: a class with an `__init__` of its own holds tensors or
                distributions that are no parameters, and does not override this method.
        """
        batch_shape = Size(batch_shape)
        parameters = self._parameters()
        new = self._copied(_instance)
        for name, value in parameters.items():
            constraint = self._constraint(name)
            _, event = _split(value, 0 if constraint is None else constraint.event_dim)
            new.__dict__[name] = value.expand(batch_shape + event)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """For classes that override `expand` and fill the instance themselves: `_instance`, or an
        empty one, where the class has the `__init__` of `cls`, which overrides it."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own: it must define expand() too"
            )
        return object.__new__(type(self)) if _instance is None else _instance

    def _copied(self, instance: Any, *filled: str) -> Any:
        """What `expand` fills: the instance, or a copy without parameters and the attributes that
        `expand` sets. No other tensor or distribution may be there, which would stay as it was."""
        if instance is not None:
            return instance
        new = object.__new__(type(self))
        for name, value in self.__dict__.items():
            is_lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if name in filled or name in self.arg_constraints or is_lazy:
                continue
            if isinstance(value, Tensor | Distribution):
                raise NotImplementedError(
                    f"{type(self).__name__}: expand() does not know the attribute {name!r}; "
                    "define expand() for this class"
                )
            new.__dict__[name] = value
        return new

    # What distributions define, of arguments that are checked and shapes that are complete.

    def _draw(self, shape: Size) -> Tensor:
        raise self._lacks("sample")

    def _log_prob(self, value: Tensor) -> Tensor:
        raise self._lacks("log_prob")

    def _cdf(self, value: Tensor) -> Tensor:
        raise self._lacks("cdf")

    def _icdf(self, value: Tensor) -> Tensor:
        raise self._lacks("icdf")

    def _lacks(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {name}")

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """The shape of draws."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _checked(self, function: str, value: Tensor) -> Tensor:
        if self._validate_args:
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"{type(self).__name__}.{function}: expected a tensor, got {brief(value)}"
                )
            self._validate_sample(value)
        return value

    def _validate_sample(self, value: Tensor) -> None:
        """Raises ValueError where `value` has no fitting shape or lies outside the support."""
        if not isinstance(value, Tensor):
            raise ValueError(f"{self!r}: expected a tensor, got {brief(value)}")
        shape, wanted = tuple(value.shape), tuple(self._batch_shape + self._event_shape)
        event = len(self._event_shape)
        fits = len(shape) >= event and shape[len(shape) - event :] == tuple(self._event_shape)
        pairs = zip(reversed(shape), reversed(wanted), strict=False)
        if not fits or any(i not in (1, j) and j != 1 for i, j in pairs):
            raise ValueError(
                f"{self!r}: a value of shape {shape} does not broadcast with the batch "
                f"{tuple(self._batch_shape)} of events of shape {tuple(self._event_shape)}"
            )
        try:
            support = self.support
        except NotImplementedError:
            return
        if not support.check(value).all():
            raise ValueError(f"{self!r}: a value lies outside the support {support!r}: {value}")

    def __repr__(self) -> str:
        shown = (f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in self._parameters().items())
        return f"{type(self).__name__}({', '.join(shown)})"


def _split(value: Tensor, event_dim: int) -> tuple[Size, Size]:
    """The shape of a tensor: of the batch, and of its last dims."""
    at = value.dim() - event_dim
    return Size(value.shape[:at]), Size(value.shape[at:])
