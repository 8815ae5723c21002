"""Draws have their distributions, whatever the dtype and the threads, and their gradients."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from families import CONTINUOUS, DISCRETE, FAMILIES, array, number
from scipy import special, stats

import flambeau
from flambeau import _C
from flambeau import distributions as D

COUNT = 20_000
# One test of about forty fails by chance once in 250 thousand seeds; these are fixed.
UNLIKELY = 1e-7


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    flambeau.manual_seed(zlib.crc32(name.encode()))
    family = CONTINUOUS[name]
    drawn = family.ours().sample((COUNT,))
    assert family.ours().support.check(drawn).all()
    x = array(drawn)
    if name.startswith("VonMises"):  # SciPy's angles lie around the mean
        x = (x - family.parameters[0] + np.pi) % (2 * np.pi) + family.parameters[0] - np.pi
    assert stats.kstest(x, family.theirs().cdf).pvalue > UNLIKELY


def chi_square(drawn: np.ndarray, probabilities: np.ndarray) -> float:
    """The p-value of counts; rare values are one."""
    counts = np.bincount(drawn.astype(int), minlength=len(probabilities))
    wanted = probabilities * len(drawn)
    often = wanted > 5
    rest = [len(drawn) - counts[often].sum()], [len(drawn) - wanted[often].sum()]
    if rest[1][0] < 1e-6:
        return float(stats.chisquare(counts[often], wanted[often], sum_check=False).pvalue)
    seen, expected = np.append(counts[often], rest[0]), np.append(wanted[often], rest[1])
    return float(stats.chisquare(seen, expected, sum_check=False).pvalue)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    flambeau.manual_seed(zlib.crc32(name.encode()))
    family = DISCRETE[name]
    drawn = array(family.ours().sample((COUNT,)))
    values = np.arange(200)
    assert chi_square(drawn, family.theirs().pmf(values)) > UNLIKELY


@pytest.mark.parametrize("rate", [0.01, 9.9, 10.0, 150.0])
def test_poisson(rate: float) -> None:
    """Around where the method changes."""
    flambeau.manual_seed(3)
    drawn = flambeau.poisson(flambeau.full((100_000,), rate))
    assert chi_square(drawn.numpy(), stats.poisson.pmf(np.arange(400), rate)) > UNLIKELY


@pytest.mark.parametrize(("count", "prob"), [(1, 0.5), (40, 0.24), (40, 0.26), (300, 0.96)])
def test_binomial(count: int, prob: float) -> None:
    flambeau.manual_seed(3)
    drawn = flambeau.binomial(flambeau.full((100_000,), float(count)), flambeau.tensor(prob))
    assert chi_square(drawn.numpy(), stats.binom.pmf(np.arange(count + 1), count, prob)) > UNLIKELY


def test_large_counts() -> None:
    """Far above what a sum of probabilities could reach."""
    flambeau.manual_seed(3)
    rate = flambeau.full((20_000,), 1e12, dtype=flambeau.float64)
    for drawn, variance in (
        (flambeau.poisson(rate), 1e12),
        (flambeau.binomial(4 * rate, number(0.25)), 0.75e12),
    ):
        assert stats.kstest((array(drawn) - 1e12) / variance**0.5, "norm").pvalue > UNLIKELY


def test_counts_must_be_possible() -> None:
    one = flambeau.ones(1)
    for bad in (-1.0, float("inf"), float("nan")):
        with pytest.raises(RuntimeError, match=r"poisson\(\): rates must be finite"):
            flambeau.poisson(bad * one)
        with pytest.raises(RuntimeError, match=r"binomial\(\): counts must be finite"):
            flambeau.binomial(bad * one, one)
        with pytest.raises(RuntimeError, match=r"binomial\(\): probabilities must lie in"):
            flambeau.binomial(one, bad * one)


def test_vectors() -> None:
    """Means and covariances of vectors and matrices."""
    flambeau.manual_seed(5)
    covariance = number([[2.0, 0.5], [0.5, 1.0]])
    weights = number([0.2, 0.3, 0.5])
    drawn = [
        D.MultivariateNormal(number([1.0, 2.0]), covariance),
        D.LowRankMultivariateNormal(number([1.0, 2.0]), number([[1.0], [2.0]]), number([0.5, 1.0])),
        D.Dirichlet(number([0.3, 2.0, 1.0])),
        D.Wishart(number(3.5), covariance),
        D.Multinomial(6, weights),
        D.OneHotCategorical(weights),
        D.OneHotCategoricalStraightThrough(weights),
        D.MixtureSameFamily(D.Categorical(weights), D.Normal(number([0.0, 2.0, 5.0]), 1.0)),
        D.Independent(D.Gamma(number([0.4, 2.0]), 1.0), 1),
    ]
    for distribution in drawn:
        x = distribution.sample((COUNT,))
        assert distribution.support.check(x).all()
        error = (array(x.mean(0)) - array(distribution.mean)) / array(distribution.stddev)
        assert np.abs(error).max() < 5 / COUNT**0.5, distribution
        ratio = array(x.var(0)) / array(distribution.variance)
        np.testing.assert_allclose(ratio, 1, atol=0.12, err_msg=repr(distribution))
    multivariate = drawn[0].sample((COUNT,))
    np.testing.assert_allclose(np.cov(array(multivariate).T), array(covariance), atol=0.1)


def test_correlations() -> None:
    """Correlations are 2 b - 1, b of a beta distribution (Lewandowski and others, 2009)."""
    flambeau.manual_seed(5)
    size, concentration = 4, 1.7
    lkj = D.LKJCholesky(size, number(concentration))
    factor = lkj.sample((COUNT,))
    assert lkj.support.check(factor).all()
    shape = concentration - 1 + size / 2
    for i, j in ((1, 0), (2, 1), (3, 0), (3, 2)):
        correlation = array((factor @ factor.mT)[:, i, j])
        assert stats.kstest((correlation + 1) / 2, stats.beta(shape, shape).cdf).pvalue > UNLIKELY
    # Densities integrate to 1: the mean of their ratio is 1.
    other = D.LKJCholesky(size, number(2.5))
    ratio = (other.log_prob(factor) - lkj.log_prob(factor)).exp()
    assert abs(float(ratio.mean()) - 1) < 5 * float(ratio.std()) / COUNT**0.5


def test_relaxations() -> None:
    """The larger part of a relaxed draw is the category; densities integrate to 1."""
    flambeau.manual_seed(5)
    weights = number([0.2, 0.3, 0.5])
    relaxed = D.RelaxedOneHotCategorical(number(0.5), weights)
    drawn = array(relaxed.sample((COUNT,)).argmax(-1))
    assert chi_square(drawn, array(weights)) > UNLIKELY
    bernoulli = D.RelaxedBernoulli(number(1.5), number(0.3))
    ones = array(bernoulli.sample((COUNT,))) > 0.5
    assert abs(ones.mean() - 0.3) < 5 * (0.21 / COUNT) ** 0.5
    grid = number((np.arange(20_000) + 0.5) / 20_000)
    np.testing.assert_allclose(float(bernoulli.log_prob(grid).exp().mean()), 1, rtol=1e-3)
    other = D.RelaxedOneHotCategorical(number(0.6), number([0.3, 0.3, 0.4]))
    x = relaxed.sample((COUNT,))
    ratio = (other.log_prob(x) - relaxed.log_prob(x)).exp()
    assert abs(float(ratio.mean()) - 1) < 5 * float(ratio.std()) / COUNT**0.5


@pytest.mark.parametrize("name", [n for n, f in CONTINUOUS.items() if f.by_quantile])
def test_draws_move_as_quantiles_do(name: str) -> None:
    """dx/dtheta = -(dF/dtheta) / density at every draw, F by differences of SciPy's."""
    flambeau.manual_seed(11)
    family = CONTINUOUS[name]
    parameters = [number(p).requires_grad_() for p in family.parameters]
    drawn = family.make(*parameters).rsample((30,))
    x = array(drawn)
    for i, parameter in enumerate(parameters):
        found = [
            float(
                flambeau.autograd.grad(d, parameter, retain_graph=True, allow_unused=True)[0] or 0
            )
            for d in drawn
        ]
        step = 1e-5 * max(1, abs(family.parameters[i]))
        moved = []
        for by in (step, -step):
            changed = list(family.parameters)
            changed[i] += by
            frozen = family.scipy(*changed)
            # The smaller tail has the digits.
            moved.append(np.where(family.theirs().cdf(x) < 0.5, frozen.cdf(x), -frozen.sf(x)))
        wanted = -(moved[0] - moved[1]) / (2 * step) / family.theirs().pdf(x)
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("name", "statistic"), [("Beta", "log"), ("StudentT", "square"), ("FisherSnedecor", "log")]
)
def test_gradients_are_unbiased(name: str, statistic: str) -> None:
    """Means of gradients are gradients of means, of what moves in more than one way."""
    flambeau.manual_seed(11)
    family = CONTINUOUS[name]
    parameters = [number(p).requires_grad_() for p in family.parameters]
    expanded = [p.expand(COUNT) for p in parameters]
    drawn = family.make(*expanded).rsample()
    function = {"log": np.log, "square": np.square}[statistic]
    per_draw = flambeau.autograd.grad(getattr(drawn, statistic)().sum(), expanded)
    for i, gradients in enumerate(per_draw):
        ends = []
        for by in (1e-3, -1e-3):
            changed = list(family.parameters)
            changed[i] += by
            ends.append(family.scipy(*changed).expect(function, epsabs=1e-12, epsrel=1e-12))
        wanted = (ends[0] - ends[1]) / 2e-3
        error = float(gradients.std()) / COUNT**0.5
        assert abs(float(gradients.mean()) - wanted) < 5 * error + 1e-4


def test_dirichlet_gradients_are_unbiased() -> None:
    """The mean of log x_0 is digamma(a_0) - digamma(sum a)."""
    flambeau.manual_seed(11)
    a = np.array([0.4, 1.5, 3.0])
    concentration = number(a).expand(COUNT, 3).requires_grad_()
    logs = D.Dirichlet(concentration).rsample()[:, 0].log()
    (gradients,) = flambeau.autograd.grad(logs.sum(), concentration)
    wanted = -special.polygamma(1, a.sum()) + np.array([special.polygamma(1, a[0]), 0, 0])
    error = array(gradients.std(0)) / COUNT**0.5
    assert (np.abs(array(gradients.mean(0)) - wanted) < 5 * error).all()


@pytest.mark.parametrize("a", [1e-3, 0.2, 1.0, 1.7, 40.0, 800.0, 2100.0, 1e5])
def test_gamma_slope(a: float) -> None:
    """The derivative of the logarithm of a quantile, by differences of SciPy's quantiles."""
    step = 1e-3 * min(a, a**0.5)
    probabilities = np.array([0.01, 0.2, 0.5, 0.9, 0.999])
    x = special.gammaincinv(a, probabilities)
    usable = x > 1e-250
    log_x = np.log(x, where=usable, out=np.zeros_like(x))
    moved = [
        np.log(special.gammaincinv(a + k * step, probabilities[usable])) for k in (1, -1, 2, -2)
    ]
    wanted = (8 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12 * step)
    found = _C._internal.gamma_slope(number(a), number(log_x[usable]))
    np.testing.assert_allclose(array(found), wanted, rtol=1e-6)


def test_second_derivatives_of_gamma_variates() -> None:
    """Of a draw at a fixed probability, by differences of SciPy's quantiles."""
    flambeau.manual_seed(6)
    shapes = number([0.2, 0.9, 3.0, 60.0]).requires_grad_()
    drawn = D.Gamma(shapes, 1.0).rsample()
    (first,) = flambeau.autograd.grad(drawn.sum(), shapes, create_graph=True)
    (second,) = flambeau.autograd.grad(first.sum(), shapes)
    a, x = array(shapes), array(drawn)
    p, step = special.gammainc(a, x), 1e-3 * a
    wanted = (special.gammaincinv(a + step, p) - 2 * x + special.gammaincinv(a - step, p)) / step**2
    np.testing.assert_allclose(array(second), wanted, rtol=1e-3, atol=1e-6)


def test_small_shapes_do_not_underflow() -> None:
    """The logarithm of a gamma variate of a tiny shape a is about log(uniform) / a."""
    flambeau.manual_seed(2)
    drawn = _C._internal.standard_gamma(flambeau.full((COUNT,), 1e-5), is_log=True)
    assert stats.kstest(np.exp(1e-5 * drawn.numpy().astype(float)), "uniform").pvalue > UNLIKELY
    shapes = flambeau.full((50, 3), 1e-4, requires_grad=True)
    beta = D.Beta(shapes, shapes).rsample()
    dirichlet = D.Dirichlet(shapes).rsample()
    for x in (beta, dirichlet):
        (gradient,) = flambeau.autograd.grad(x.sum(), shapes)
        assert x.isfinite().all() and gradient.isfinite().all()
    gamma = D.Gamma(shapes, 1.0).rsample()
    assert (gamma > 0).all()
    (gradient,) = flambeau.autograd.grad(gamma.sum(), shapes)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float16, flambeau.bfloat16])
def test_dtypes(name: str, dtype: flambeau.dtype) -> None:
    if name == "Gamma large" or (dtype is not flambeau.float32 and "VonMises" in name):
        return  # far beyond what halves resolve
    family = FAMILIES[name]
    parameters = [flambeau.tensor(p, dtype=dtype) for p in family.parameters]
    distribution = family.make(*parameters) if name != "Transformed" else family.ours()
    drawn = distribution.sample((50,))
    assert drawn.dtype == (dtype if name != "Transformed" else flambeau.float64)
    assert drawn.isfinite().all()


@pytest.mark.parametrize("name", ["Gamma", "Beta", "Poisson large", "Binomial large", "VonMises"])
def test_threads(name: str) -> None:
    """The numbers do not depend on how many threads draw them."""
    threads, found = flambeau.get_num_threads(), []
    try:
        for count in (1, 3):
            flambeau.set_num_threads(count)
            flambeau.manual_seed(1)
            found.append(FAMILIES[name].ours().sample((COUNT,)))
    finally:
        flambeau.set_num_threads(threads)
    assert flambeau.equal(*found)


@pytest.mark.parametrize("name", FAMILIES)
def test_sample_and_rsample(name: str) -> None:
    """Draws without gradients, and the same with them."""
    family = FAMILIES[name]
    parameters = [number(p).requires_grad_() for p in family.parameters]
    distribution = family.make(*parameters)
    flambeau.manual_seed(1)
    drawn = distribution.sample((3, 2))
    assert drawn.shape == (3, 2) and not drawn.requires_grad
    if not distribution.has_rsample:
        with pytest.raises(NotImplementedError, match="has no rsample"):
            distribution.rsample()
        return
    flambeau.manual_seed(1)
    again = distribution.rsample((3, 2))
    assert again.requires_grad and flambeau.equal(drawn, again.detach())
