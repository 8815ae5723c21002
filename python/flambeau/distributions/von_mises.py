"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import Value


class VonMises(Distribution):
    """The von Mises distribution of angles, with density proportional to
    exp(concentration cos(x - loc)).

    Draws by rejection from a wrapped Cauchy distribution (D. Best, N. Fisher, "Efficient simulation
    of the von Mises distribution", 1979).

    Args:
        loc: the mean angle, in radians.
        concentration: positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import VonMises
        >>> distribution = VonMises(flambeau.tensor(0.), flambeau.tensor(1.))
        >>> distribution.mean
        tensor(0.)
        >>> distribution.log_prob(flambeau.tensor(0.))
        tensor(-1.0738)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        """The mean angle."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance 1 - I1(concentration) / I0(concentration)."""
        k = self.concentration
        return 1 - flambeau.special.i1e(k) / flambeau.special.i0e(k)

    def _draw(self, shape: Size) -> Tensor:
        k = self.concentration.double()
        # rho = (tau - sqrt(2 tau)) / 2k and r = (1 + rho^2) / 2 rho cancel where k is small.
        tau = 1 + (1 + 4 * k.square()).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        r = ((1 + rho.square()) / (2 * rho)).where(k > 1e-5, 1 / k + k).expand(shape)
        k, drawn = k.expand(shape), flambeau.empty(shape, dtype=k.dtype, device=k.device)
        missing = flambeau.ones(shape, dtype=flambeau.bool, device=k.device)
        while missing.any():
            u = flambeau.rand((3, *shape), dtype=k.dtype, device=k.device)
            z = (math.pi * u[0]).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            fits = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 >= c)
            angle = (u[2] - 0.5).sign() * f.clamp(-1, 1).acos()
            drawn = angle.where(missing & fits, drawn)
            missing &= ~fits
        turned = drawn + math.pi + self.loc
        return (turned % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        # log I0(k) = k + log i0e(k).
        return (
            k * ((value - self.loc).cos() - 1)
            - math.log(2 * math.pi)
            - flambeau.special.i0e(k).log()
        )
