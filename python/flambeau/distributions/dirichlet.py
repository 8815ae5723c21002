"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.gamma import standard_gamma
from flambeau.nn.functional import one_hot


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of vectors of probabilities.

    A draw is a vector of gamma variates over their sum, computed from their logarithms, so that
    small concentrations do not underflow; gradients are those of the gamma variates.

    Args:
        concentration: `[..., K]`, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Dirichlet
        >>> distribution = Dirichlet(flambeau.tensor([1., 1., 2.]))
        >>> distribution.mean
        tensor([0.2500, 0.2500, 0.5000])
        >>> distribution.log_prob(flambeau.tensor([0.25, 0.25, 0.5]))
        tensor(1.0986)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        self._start(validate_args, concentration=concentration)

    @property
    def _total(self) -> Tensor:
        return self.concentration.sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self._total.unsqueeze(-1)

    @property
    def mode(self) -> Tensor:
        """Where the density is highest; where no concentration is above 1, the corner of the
        largest."""
        above = (self.concentration - 1).clamp(min=0)
        sums = above.sum(-1, keepdim=True)
        corner = one_hot(self.concentration.argmax(-1), self.concentration.shape[-1])
        return (above / sums).where(sums > 0, corner.to(above.dtype))

    @property
    def variance(self) -> Tensor:
        mean = self.mean
        return mean * (1 - mean) / (self._total + 1).unsqueeze(-1)

    def _draw(self, shape: Size) -> Tensor:
        return standard_gamma(self.concentration.expand(shape), is_log=True).softmax(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        powers = (a - 1).xlogy(value).sum(-1)
        return powers + self._total.lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, total, size = self.concentration, self._total, self.concentration.shape[-1]
        normalizer = a.lgamma().sum(-1) - total.lgamma()
        return normalizer + (total - size) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
