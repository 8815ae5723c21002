"""Divergences of two distributions of one family."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor, linalg
from flambeau.distributions._gaussian import half_log_det, square_norm
from flambeau.distributions.bernoulli import Bernoulli
from flambeau.distributions.binomial import Binomial
from flambeau.distributions.categorical import Categorical
from flambeau.distributions.cauchy import Cauchy
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.exponential import Exponential
from flambeau.distributions.gamma import Gamma
from flambeau.distributions.geometric import Geometric
from flambeau.distributions.gumbel import Gumbel
from flambeau.distributions.half_normal import HalfNormal
from flambeau.distributions.independent import Independent
from flambeau.distributions.kl.registry import kl_divergence, register_kl
from flambeau.distributions.laplace import Laplace
from flambeau.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from flambeau.distributions.multivariate_normal import MultivariateNormal
from flambeau.distributions.normal import Normal
from flambeau.distributions.one_hot_categorical import OneHotCategorical
from flambeau.distributions.pareto import Pareto
from flambeau.distributions.poisson import Poisson
from flambeau.distributions.transformed_distribution import TransformedDistribution
from flambeau.distributions.uniform import Uniform
from flambeau.distributions.utils import euler_constant, sum_rightmost
from flambeau.nn.functional import softplus


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_families(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence({type(p).__name__}, {type(q).__name__}) is not registered"
        )
    natural, normalizer, means = p._mean_statistics()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for parameter, other, mean in zip(natural, others, means, strict=True):
        events = parameter.dim() - len(p.batch_shape)
        result = result - sum_rightmost((other - parameter) * mean, events)
    return result


def _where_possible(terms: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Terms of values: infinite where q is 0, none where p is."""
    return terms.masked_fill(q == 0, math.inf).masked_fill(p == 0, 0.0)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return _where_possible(ones, p.probs, q.probs) + _where_possible(
        zeros, 1 - p.probs, 1 - q.probs
    )


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "kl_divergence(Binomial, Binomial): q must not have more trials than p"
        )
    found = p.total_count * _bernoulli(_trial(p), _trial(q))
    return found.masked_fill(p.total_count > q.total_count, math.inf)


def _trial(binomial: Binomial) -> Bernoulli:
    return Bernoulli(probs=binomial.probs, validate_args=False)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return _where_possible(terms, p.probs, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """F. Chyzak, F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
    Cauchy distributions", 2019."""
    above = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return above.log() - (4 * p.scale * q.scale).log()


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + b.lgamma()
        - a.lgamma()
        + (a - b) * a.digamma()
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - flambeau.special.xlog1py(p.mean, -q.probs) - q.probs.log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    moment = (ratio + 1).lgamma() - distance
    return distance - ratio.log() + euler_constant * (ratio - 1) + moment.exp() - 1


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Independent[Normal], q: Independent[Normal]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence(Independent, Independent): expected as many reinterpreted dims, "
            f"got {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-distance / p.scale).exp() + distance / q.scale - 1 - ratio.log()


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    terms = p.rate * (p.rate.log() - q.rate.log())
    return _where_possible(terms, p.rate, q.rate) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "kl_divergence(TransformedDistribution, TransformedDistribution): "
            "the transforms and event shapes must be the same"
        )
    found = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(found, len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


def _gaussians(trace: Tensor, distance: Tensor, log_dets: Tensor, size: int) -> Tensor:
    """Of normal distributions: tr(Q^-1 P), the squared norm of the means' difference under Q^-1,
    log det Q - log det P."""
    return 0.5 * (trace + distance - size + log_dets)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q)
    log_dets = 2 * (half_log_det(q.scale_tril) - half_log_det(p.scale_tril))
    distance = square_norm(q.scale_tril, p.loc - q.loc)
    return _gaussians(_trace(q.scale_tril, p.scale_tril), distance, log_dets, p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_from(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q)
    roots = p.cov_diag.sqrt().diag_embed()
    trace = _trace(q.scale_tril, p.cov_factor) + _trace(q.scale_tril, roots)
    log_dets = 2 * half_log_det(q.scale_tril) - p._log_det()
    distance = square_norm(q.scale_tril, p.loc - q.loc)
    return _gaussians(trace, distance, log_dets, p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q)
    return _of_low_rank(q, p.loc, p.covariance_matrix, 2 * half_log_det(p.scale_tril))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_ranks(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q)
    return _of_low_rank(q, p.loc, p.covariance_matrix, p._log_det())


def _of_low_rank(
    q: LowRankMultivariateNormal, loc: Tensor, covariance: Tensor, log_det: Tensor
) -> Tensor:
    trace = (q.precision_matrix * covariance).sum((-2, -1))
    distance = q._square_norm(loc - q.loc)
    return _gaussians(trace, distance, q._log_det() - log_det, q.event_shape[0])


def _trace(factor: Tensor, other: Tensor) -> Tensor:
    """tr((L L^T)^-1 A A^T), the squared norm of L^-1 A."""
    batch = flambeau.broadcast_shapes(factor.shape[:-2], other.shape[:-2])
    factor, other = (x.expand(batch + x.shape[-2:]) for x in (factor, other))
    return linalg.solve_triangular(factor, other, upper=False).square().sum((-2, -1))


def _check_sizes(
    p: MultivariateNormal | LowRankMultivariateNormal,
    q: MultivariateNormal | LowRankMultivariateNormal,
) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"kl_divergence({type(p).__name__}, {type(q).__name__}): expected events of one shape, "
            f"got {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
