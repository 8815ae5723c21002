"""The exponential distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.utils import Value


class Exponential(ExponentialFamily):
    """The exponential distribution of mean `1 / rate`.

    Args:
        rate: positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Exponential
        >>> distribution = Exponential(flambeau.tensor(2.))
        >>> distribution.mean
        tensor(0.5000)
        >>> distribution.log_prob(flambeau.tensor(1.))
        tensor(-1.3069)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return self.rate.new_zeros(self.rate.shape)

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    def _draw(self, shape: Size) -> Tensor:
        return self.rate.new_empty(shape).exponential_() / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-self.rate * value).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -(-x).log()
