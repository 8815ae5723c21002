"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.utils import Value


class Poisson(ExponentialFamily):
    """The Poisson distribution of counts with mean `rate`.

    Args:
        rate: not negative.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Poisson
        >>> distribution = Poisson(flambeau.tensor(3.))
        >>> distribution.mean
        tensor(3.)
        >>> distribution.log_prob(flambeau.tensor(2.))
        tensor(-1.4959)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def _draw(self, shape: Size) -> Tensor:
        return flambeau.poisson(self.rate.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        return flambeau.xlogy(value, self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp()
