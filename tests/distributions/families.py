"""Distributions of numbers and what SciPy calls them: one table for all tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import flambeau
from flambeau import Tensor
from flambeau import distributions as D


def number(x: object) -> Tensor:
    return flambeau.tensor(x, dtype=flambeau.float64)


def array(x: Tensor) -> Any:
    return x.detach().numpy()


@dataclass(frozen=True)
class Family:
    """A way to make a distribution, SciPy's way, and parameters for both."""

    make: Callable[..., D.Distribution]
    scipy: Callable[..., Any]
    parameters: tuple[float, ...]
    by_quantile: bool = False  # a draw moves with parameters as the quantile that it is does
    lacks: tuple[str, ...] = ()  # what the distribution does not have

    def ours(self) -> Any:
        return self.make(*map(number, self.parameters))

    def theirs(self) -> Any:
        return self.scipy(*self.parameters)


def _quantile(make: Any, scipy: Any, *parameters: float, **more: Any) -> Family:
    return Family(make, scipy, parameters, by_quantile=True, **more)


def _logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def _continuous_bernoulli(p: float) -> Any:
    """A truncated exponential, turned around where it rises."""
    rate = -_logit(p)
    if rate > 0:
        return stats.truncexpon(rate, scale=1 / rate)
    base = stats.truncexpon(-rate, scale=-1 / rate)

    class Turned(stats.rv_continuous):
        def _pdf(self, x: Any) -> Any:
            return base.pdf(1 - x)

        def _cdf(self, x: Any) -> Any:
            return base.sf(1 - x)

        def _ppf(self, q: Any) -> Any:
            return 1 - base.isf(q)

    return Turned(a=0, b=1)()


def _kumaraswamy(a: float, b: float) -> Any:
    class Kumaraswamy(stats.rv_continuous):
        def _cdf(self, x: Any) -> Any:
            return 1 - (1 - x**a) ** b

        def _pdf(self, x: Any) -> Any:
            return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)

        def _ppf(self, q: Any) -> Any:
            return (1 - (1 - q) ** (1 / b)) ** (1 / a)

    return Kumaraswamy(a=0, b=1)()


def _exponential_of_normal(loc: float, scale: float) -> D.Distribution:
    transforms = [D.AffineTransform(loc, scale), D.ExpTransform()]
    return D.TransformedDistribution(D.Normal(number(0.0), number(1.0)), transforms)


CONTINUOUS: dict[str, Family] = {
    "Normal": _quantile(D.Normal, lambda m, s: stats.norm(m, s), 0.7, 2.5),
    "Cauchy": _quantile(D.Cauchy, lambda m, s: stats.cauchy(m, s), -1.0, 0.4, lacks=("moments",)),
    "Laplace": _quantile(D.Laplace, lambda m, s: stats.laplace(m, s), 0.7, 2.5),
    "Uniform": _quantile(D.Uniform, lambda a, b: stats.uniform(a, b - a), -1.0, 2.5),
    "Exponential": _quantile(D.Exponential, lambda r: stats.expon(scale=1 / r), 2.5),
    "Gamma": _quantile(D.Gamma, lambda a, r: stats.gamma(a, scale=1 / r), 2.2, 0.6),
    "Gamma below 1": _quantile(D.Gamma, lambda a, r: stats.gamma(a, scale=1 / r), 0.3, 1.7),
    "Gamma large": _quantile(D.Gamma, lambda a, r: stats.gamma(a, scale=1 / r), 2500.0, 30.0),
    "Chi2": _quantile(D.Chi2, stats.chi2, 3.4),
    "InverseGamma": _quantile(D.InverseGamma, lambda a, r: stats.invgamma(a, scale=r), 5.2, 1.6),
    "Beta": Family(D.Beta, stats.beta, (2.2, 0.6)),
    "StudentT": Family(D.StudentT, lambda df, m, s: stats.t(df, m, s), (7.3, -0.4, 2.0)),
    "FisherSnedecor": Family(D.FisherSnedecor, stats.f, (4.3, 11.0)),
    "VonMises": Family(
        D.VonMises, lambda m, k: stats.vonmises(k, m), (0.4, 2.0), lacks=("moments",)
    ),
    "VonMises flat": Family(
        D.VonMises, lambda m, k: stats.vonmises(k, m), (-1.0, 1e-4), lacks=("moments",)
    ),
    "GeneralizedPareto": _quantile(
        D.GeneralizedPareto, lambda m, s, k: stats.genpareto(k, m, s), 0.5, 2.0, 0.2
    ),
    "GeneralizedPareto bounded": _quantile(
        D.GeneralizedPareto, lambda m, s, k: stats.genpareto(k, m, s), 0.5, 2.0, -0.4
    ),
    "LogNormal": _quantile(D.LogNormal, lambda m, s: stats.lognorm(s, scale=np.exp(m)), 0.3, 0.5),
    "HalfNormal": _quantile(D.HalfNormal, lambda s: stats.halfnorm(scale=s), 1.4),
    "HalfCauchy": _quantile(
        D.HalfCauchy, lambda s: stats.halfcauchy(scale=s), 1.4, lacks=("moments",)
    ),
    "Gumbel": _quantile(D.Gumbel, lambda m, s: stats.gumbel_r(m, s), -0.5, 1.3),
    "Weibull": _quantile(D.Weibull, lambda s, k: stats.weibull_min(k, scale=s), 1.3, 2.2),
    "Pareto": _quantile(D.Pareto, lambda s, a: stats.pareto(a, scale=s), 1.3, 6.2),
    "Kumaraswamy": _quantile(D.Kumaraswamy, _kumaraswamy, 2.2, 1.7),
    "ContinuousBernoulli": _quantile(D.ContinuousBernoulli, _continuous_bernoulli, 0.12),
    "ContinuousBernoulli rising": _quantile(D.ContinuousBernoulli, _continuous_bernoulli, 0.9),
    "Transformed": _quantile(
        _exponential_of_normal,
        lambda m, s: stats.lognorm(s, scale=np.exp(m)),
        *(0.3, 0.5),
        lacks=("moments",),
    ),
}

DISCRETE: dict[str, Family] = {
    "Bernoulli": Family(D.Bernoulli, stats.bernoulli, (0.3,)),
    "Geometric": Family(D.Geometric, lambda p: stats.geom(p, loc=-1), (0.3,)),
    "Poisson": Family(D.Poisson, stats.poisson, (4.4,), lacks=("entropy",)),
    "Poisson large": Family(D.Poisson, stats.poisson, (44.0,), lacks=("entropy",)),
    "Binomial": Family(D.Binomial, stats.binom, (9.0, 0.3)),
    "Binomial large": Family(D.Binomial, stats.binom, (60.0, 0.7)),
    "NegativeBinomial": Family(
        D.NegativeBinomial, lambda n, p: stats.nbinom(n, 1 - p), (2.5, 0.6), lacks=("entropy",)
    ),
}

FAMILIES = {**CONTINUOUS, **DISCRETE}
