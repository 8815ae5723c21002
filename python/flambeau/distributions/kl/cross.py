"""Divergences of distributions of two families: -entropy(p) less the mean of log q under p."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributions.bernoulli import Bernoulli
from flambeau.distributions.beta import Beta
from flambeau.distributions.binomial import Binomial
from flambeau.distributions.continuous_bernoulli import ContinuousBernoulli
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.exponential import Exponential
from flambeau.distributions.gamma import Gamma
from flambeau.distributions.gumbel import Gumbel
from flambeau.distributions.kl.registry import register_kl
from flambeau.distributions.laplace import Laplace
from flambeau.distributions.normal import Normal
from flambeau.distributions.pareto import Pareto
from flambeau.distributions.poisson import Poisson
from flambeau.distributions.uniform import Uniform
from flambeau.distributions.utils import euler_constant

Kind = type[Distribution]


def _of(q: Kind, *ps: Kind) -> Callable[[Callable[[Any, Any], Tensor]], None]:
    """Registers the divergence of each p from q by the mean of log q under p."""

    def register(mean_log: Callable[[Any, Any], Tensor]) -> None:
        def divergence(p: Any, q: Any) -> Tensor:
            return -p.entropy() - mean_log(p, q)

        for p in ps:
            register_kl(p, q)(divergence)

    return register


def _mean_log(p: Distribution) -> Tensor:
    """The mean of log x."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    assert isinstance(p, Uniform)
    return _mean_log_between(p.low, p.high)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    """Of uniform numbers."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _mean_exp(p: Distribution, t: Tensor) -> Tensor:
    """The mean of exp(-t x), t > 0."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (-p.concentration * (t / p.rate).log1p()).exp()
    if isinstance(p, Normal):
        return (0.5 * (t * p.scale).square() - t * p.loc).exp()
    assert isinstance(p, Uniform)
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


def _outside(found: Tensor, outside: Tensor | bool) -> Tensor:
    """The mean of log q is -infinity where p has values that q has not."""
    if isinstance(outside, bool):
        return found
    return found.masked_fill(outside, -math.inf)


def _below_zero(p: Distribution) -> Tensor | bool:
    return p.low < 0 if isinstance(p, Uniform) else False


def _beyond_unit(p: Distribution) -> Tensor | bool:
    return (p.low < 0) | (p.high > 1) if isinstance(p, Uniform) else False


@_of(Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)
def _normal(p: Distribution, q: Normal) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).square()) / q.scale.square()
    return -0.5 * (math.log(2 * math.pi) + spread) - q.scale.log()


@_of(Exponential, Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)
def _exponential(p: Distribution, q: Exponential) -> Tensor:
    return _outside(q.rate.log() - q.rate * p.mean, _below_zero(p))


@_of(Gamma, Beta, Exponential, Pareto, Uniform)
def _gamma(p: Distribution, q: Gamma) -> Tensor:
    a = q.concentration
    found = a * q.rate.log() - a.lgamma() + (a - 1) * _mean_log(p) - q.rate * p.mean
    return _outside(found, _below_zero(p))


@_of(Pareto, Uniform)
def _pareto_of_uniform(p: Uniform, q: Pareto) -> Tensor:
    found = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)
    return _outside(found, p.low < q.scale)


@_of(Beta, Uniform)
def _beta_of_uniform(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    powers = (a - 1) * _mean_log(p) + (b - 1) * _mean_log_between(1 - p.high, 1 - p.low)
    return _outside(powers - q._log_beta(), _beyond_unit(p))


@_of(ContinuousBernoulli, Beta, Uniform)
def _continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return _outside(p.mean * q.logits - q._log_normalizer(q.logits), _beyond_unit(p))


@_of(Uniform, Beta, ContinuousBernoulli)
def _uniform(p: Distribution, q: Uniform) -> Tensor:
    return _outside(-(q.high - q.low).log(), (q.low > 0) | (q.high < 1))


@_of(Gumbel, Exponential, Gamma, Normal, Uniform)
def _gumbel(p: Distribution, q: Gumbel) -> Tensor:
    distance = (p.mean - q.loc) / q.scale
    tail = (q.loc / q.scale).exp() * _mean_exp(p, q.scale.reciprocal())
    return -distance - tail - q.scale.log()


@_of(Laplace, Normal)
def _laplace(p: Normal, q: Laplace) -> Tensor:
    distance = p.loc - q.loc
    z = distance / (math.sqrt(2) * p.scale)
    size = math.sqrt(2 / math.pi) * p.scale * (-z.square()).exp() + distance * z.erf()
    return -size / q.scale - (2 * q.scale).log()


@_of(Poisson, Bernoulli)
def _poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return p.probs.xlogy(q.rate) - q.rate


def _infinite(p: Any, q: Any) -> Tensor:
    """p has values that q has not, whatever the parameters."""
    shape = flambeau.broadcast_shapes(p.batch_shape, q.batch_shape)
    mean = p.mean
    return flambeau.full(shape, math.inf, dtype=mean.dtype, device=mean.device)


_UNIT = (Beta, ContinuousBernoulli)
_NEVER_WITHIN: Sequence[tuple[Sequence[Kind], Sequence[Kind]]] = (
    (_UNIT, (Pareto,)),
    ((Exponential, Gamma), (*_UNIT, Pareto, Uniform)),
    ((Gumbel, Laplace, Normal), (*_UNIT, Exponential, Gamma, Pareto, Uniform)),
    ((Pareto,), (*_UNIT, Uniform)),
    ((Poisson,), (Bernoulli, Binomial)),
)
for _ps, _qs in _NEVER_WITHIN:
    for _p in _ps:
        for _q in _qs:
            register_kl(_p, _q)(_infinite)
