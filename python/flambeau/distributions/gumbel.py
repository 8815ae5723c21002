"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.transformed_distribution import FromParameters
from flambeau.distributions.transforms import AffineTransform, ExpTransform, Transform
from flambeau.distributions.uniform import Uniform
from flambeau.distributions.utils import Value, euler_constant


class Gumbel(FromParameters):
    """The Gumbel distribution of largest values: loc - scale log(-log u), u uniform.

    Args:
        loc: the mode.
        scale: positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Gumbel
        >>> distribution = Gumbel(flambeau.tensor(0.), flambeau.tensor(1.))
        >>> distribution.mean
        tensor(0.5772)
        >>> distribution.log_prob(flambeau.tensor(0.))
        tensor(-1.)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self._begin(validate_args, loc=loc, scale=scale)

    def _built(self) -> tuple[Distribution, list[Transform]]:
        info = flambeau.finfo(self.loc.dtype)
        low, high = (flambeau.full_like(self.loc, u) for u in (info.tiny, 1 - info.eps))
        minus_log = [ExpTransform().inv, AffineTransform(0, -1)]
        last = AffineTransform(self.loc, -self.scale)
        return Uniform(low, high, validate_args=False), [*minus_log, ExpTransform().inv, last]

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (math.pi**2 / 6)

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -z - (-z).exp() - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return (-(-(value - self.loc) / self.scale).exp()).exp()

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
