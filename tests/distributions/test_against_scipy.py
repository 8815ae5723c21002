"""Densities, distribution functions, quantiles, moments and entropies are SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from families import CONTINUOUS, DISCRETE, FAMILIES, Family, array, number
from scipy import special, stats

import flambeau
from flambeau import distributions as D

QUANTILES = np.array([0.001, 0.1, 0.3, 0.5, 0.77, 0.99])


def points(family: Family) -> Any:
    return family.theirs().ppf(QUANTILES)


@pytest.mark.parametrize("name", FAMILIES)
def test_log_prob(name: str) -> None:
    family = FAMILIES[name]
    theirs, x = family.theirs(), points(family)
    wanted = theirs.logpdf(x) if name in CONTINUOUS else theirs.logpmf(x)
    np.testing.assert_allclose(
        array(family.ours().log_prob(number(x))), wanted, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_distribution_function(name: str) -> None:
    ours, theirs, x = FAMILIES[name].ours(), FAMILIES[name].theirs(), points(FAMILIES[name])
    try:
        found = ours.cdf(number(x))
    except NotImplementedError:
        return
    np.testing.assert_allclose(array(found), theirs.cdf(x), rtol=1e-8, atol=1e-10)
    try:
        quantiles = ours.icdf(number(QUANTILES))
    except NotImplementedError:
        return
    np.testing.assert_allclose(array(quantiles), x, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", [n for n, f in FAMILIES.items() if "moments" not in f.lacks])
def test_moments(name: str) -> None:
    ours, theirs = FAMILIES[name].ours(), FAMILIES[name].theirs()
    np.testing.assert_allclose(array(ours.mean), theirs.mean(), rtol=1e-7)
    np.testing.assert_allclose(array(ours.variance), theirs.var(), rtol=1e-6)
    np.testing.assert_allclose(array(ours.stddev), theirs.std(), rtol=1e-6)


@pytest.mark.parametrize("name", [n for n, f in FAMILIES.items() if "entropy" not in f.lacks])
def test_entropy(name: str) -> None:
    family = FAMILIES[name]
    try:
        found = family.ours().entropy()
    except NotImplementedError:
        assert name.startswith(("FisherSnedecor", "VonMises", "Transformed"))
        return
    np.testing.assert_allclose(array(found), family.theirs().entropy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_mode(name: str) -> None:
    """No other value is more probable."""
    family = FAMILIES[name]
    ours = family.ours()
    try:
        mode = ours.mode
    except NotImplementedError:
        assert name.startswith(("ContinuousBernoulli", "Transformed"))
        return
    if mode.isnan().any():
        assert name == "Uniform"
        return
    theirs, grid = family.theirs(), family.theirs().ppf(np.linspace(0.001, 0.999, 999))
    density = theirs.pdf if name in CONTINUOUS else theirs.pmf
    assert density(float(mode)) >= density(grid).max() * (1 - 1e-9)


def test_vectors() -> None:
    """Distributions of vectors and matrices."""
    a, w = np.array([0.7, 2.0, 3.5]), np.array([0.2, 0.3, 0.5])
    covariance = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])
    x = np.array([0.3, -1.0, 2.0])
    normal = stats.multivariate_normal(a, covariance)
    for keyword, matrix in {
        "covariance_matrix": covariance,
        "precision_matrix": np.linalg.inv(covariance),
        "scale_tril": np.linalg.cholesky(covariance),
    }.items():
        ours = D.MultivariateNormal(number(a), **{keyword: number(matrix)})
        np.testing.assert_allclose(array(ours.log_prob(number(x))), normal.logpdf(x))
        np.testing.assert_allclose(array(ours.entropy()), normal.entropy())
        np.testing.assert_allclose(array(ours.covariance_matrix), covariance)
        np.testing.assert_allclose(array(ours.precision_matrix), np.linalg.inv(covariance))
        np.testing.assert_allclose(array(ours.variance), np.diag(covariance))
        wishart = D.Wishart(number(4.5), **{keyword: number(matrix)})
        theirs = stats.wishart(4.5, covariance)
        np.testing.assert_allclose(
            array(wishart.log_prob(number(2 * covariance))), theirs.logpdf(2 * covariance)
        )
        np.testing.assert_allclose(array(wishart.entropy()), theirs.entropy())
        np.testing.assert_allclose(array(wishart.mean), theirs.mean())
        np.testing.assert_allclose(array(wishart.variance), theirs.var())
    factor, diagonal = np.array([[1.0], [2.0], [-1.0]]), np.array([0.5, 1.0, 2.0])
    low_rank = D.LowRankMultivariateNormal(number(a), number(factor), number(diagonal))
    full = stats.multivariate_normal(a, factor @ factor.T + np.diag(diagonal))
    np.testing.assert_allclose(array(low_rank.log_prob(number(x))), full.logpdf(x))
    np.testing.assert_allclose(array(low_rank.entropy()), full.entropy())
    np.testing.assert_allclose(array(low_rank.precision_matrix), np.linalg.inv(full.cov))
    dirichlet, theirs = D.Dirichlet(number(a)), stats.dirichlet(a)
    np.testing.assert_allclose(array(dirichlet.log_prob(number(w))), theirs.logpdf(w))
    np.testing.assert_allclose(array(dirichlet.entropy()), theirs.entropy())
    np.testing.assert_allclose(array(dirichlet.mean), theirs.mean())
    np.testing.assert_allclose(array(dirichlet.variance), theirs.var())
    counts = np.array([1.0, 0.0, 3.0])
    multinomial, theirs = D.Multinomial(4, number(w)), stats.multinomial(4, w)
    np.testing.assert_allclose(array(multinomial.log_prob(number(counts))), theirs.logpmf(counts))
    np.testing.assert_allclose(array(multinomial.entropy()), theirs.entropy())
    np.testing.assert_allclose(array(multinomial.variance), np.diag(theirs.cov()))
    categorical = D.Categorical(number(3 * w))
    np.testing.assert_allclose(array(categorical.log_prob(flambeau.arange(3))), np.log(w))
    np.testing.assert_allclose(array(categorical.entropy()), stats.entropy(w))
    one_hot = D.OneHotCategorical(logits=number(np.log(w)))
    np.testing.assert_allclose(array(one_hot.log_prob(flambeau.eye(3).double())), np.log(w))


def test_mixture() -> None:
    """Of two normal distributions, from SciPy's densities of each."""
    mixture = D.MixtureSameFamily(
        D.Categorical(number([0.3, 0.7])), D.Normal(number([-1.0, 2.0]), number([0.5, 1.5]))
    )
    x = np.linspace(-3, 4, 9)
    parts = stats.norm([[-1.0], [2.0]], [[0.5], [1.5]])
    weights = np.array([[0.3], [0.7]])
    np.testing.assert_allclose(
        array(mixture.log_prob(number(x))), np.log((weights * parts.pdf(x)).sum(0))
    )
    np.testing.assert_allclose(array(mixture.cdf(number(x))), (weights * parts.cdf(x)).sum(0))
    np.testing.assert_allclose(float(mixture.mean), 0.3 * -1 + 0.7 * 2)
    second = 0.3 * (0.25 + 1) + 0.7 * (2.25 + 4)
    np.testing.assert_allclose(float(mixture.variance), second - float(mixture.mean) ** 2)


def test_undefined_moments() -> None:
    cases: list[tuple[D.Distribution, float, float]] = [
        (D.StudentT(number(0.5)), np.nan, np.nan),
        (D.StudentT(number(1.5)), 0.0, np.inf),
        (D.Pareto(1.0, number(0.5)), np.inf, np.inf),
        (D.InverseGamma(number(1.5), 1.0), 2.0, np.inf),
        (D.FisherSnedecor(number(3.0), number(1.0)), np.inf, np.nan),
        (D.FisherSnedecor(number(3.0), number(3.0)), 3.0, np.inf),
        (D.GeneralizedPareto(number(0.0), 1.0, number(1.0)), np.inf, np.inf),
        (D.Cauchy(number(0.0), 1.0), np.nan, np.inf),
        (D.HalfCauchy(number(1.0)), np.inf, np.inf),
    ]
    for distribution, mean, variance in cases:
        np.testing.assert_allclose(array(distribution.mean), mean, err_msg=repr(distribution))
        np.testing.assert_allclose(
            array(distribution.variance), variance, err_msg=repr(distribution)
        )


def test_circular_variance() -> None:
    found = D.VonMises(number(0.0), number([0.1, 2.0, 500.0])).variance
    k = np.array([0.1, 2.0, 500.0])
    np.testing.assert_allclose(array(found), 1 - special.ive(1, k) / special.ive(0, k))


@pytest.mark.parametrize("name", DISCRETE)
def test_support_is_enumerated(name: str) -> None:
    ours = DISCRETE[name].ours()
    if not ours.has_enumerate_support:
        with pytest.raises(NotImplementedError, match="has no enumerate_support"):
            ours.enumerate_support()
        return
    values = ours.enumerate_support()
    assert ours.support.check(values).all()
    np.testing.assert_allclose(array(ours.log_prob(values).exp().sum(0)), 1)
