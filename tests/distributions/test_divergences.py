"""Divergences are the integrals, or sums, that define them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from families import CONTINUOUS, DISCRETE, Family, array, number

import flambeau
from flambeau import distributions as D
from flambeau.distributions.kl.registry import _find

# A second member of each family, with parameters of its own.
OTHERS: dict[str, tuple[float, ...]] = {
    "Normal": (-0.4, 1.1),
    "Cauchy": (0.5, 1.4),
    "Laplace": (-0.2, 3.0),
    "Uniform": (-1.5, 2.7),
    "Exponential": (0.8,),
    "Gamma": (1.3, 0.9),
    "Chi2": (2.1,),
    "Beta": (1.4, 1.9),
    "Gumbel": (0.6, 1.9),
    "LogNormal": (-0.1, 0.9),
    "HalfNormal": (2.2,),
    "Pareto": (1.1, 2.4),
    "ContinuousBernoulli": (0.7,),
    "Bernoulli": (0.8,),
    "Geometric": (0.6,),
    "Poisson": (2.2,),
    "Binomial": (9.0, 0.8),
}
UNIT = Family(D.Uniform, CONTINUOUS["Uniform"].scipy, (0.1, 0.8))


def pairs() -> Iterator[tuple[str, Family, Family]]:
    """Of all families, and of uniform numbers inside (0, 1), where a divergence is registered."""
    known = {**CONTINUOUS, **DISCRETE}
    firsts = {**{n: known[n] for n in OTHERS}, "unit Uniform": UNIT}
    for (name, p), other in itertools.product(firsts.items(), OTHERS):
        q = Family(known[other].make, known[other].scipy, OTHERS[other])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _find(type(p.ours()), type(q.ours()))
        if found is None:
            continue
        try:
            D.kl_divergence(p.ours(), q.ours())
        except NotImplementedError:
            continue  # exponential families of two types
        yield f"{name}, {other}", p, q


PAIRS = {name: (p, q) for name, p, q in pairs()}


def test_there_are_divergences() -> None:
    assert len(PAIRS) >= 70


@pytest.mark.parametrize("name", PAIRS)
def test_definition(name: str) -> None:
    p, q = (f.theirs() for f in PAIRS[name])
    if name.split(", ")[0] in DISCRETE:
        values = np.arange(100)
        probabilities, logs = p.pmf(values), (p.logpmf(values), q.logpmf(values))
        seen = probabilities > 0
        with np.errstate(invalid="ignore"):
            wanted = (probabilities * (logs[0] - logs[1]))[seen].sum()
    else:
        # The mean over quantiles of u = 1 / (1 + e^-t), for t at equal steps.
        t, step = np.linspace(-30, 30, 6001, retstep=True)
        u, tail = 1 / (1 + np.exp(-t)), 1 / (1 + np.exp(t))
        x = np.where(u < 0.5, p.ppf(u), p.isf(tail))
        with np.errstate(all="ignore"):
            difference = p.logpdf(x) - q.logpdf(x)
            inside = (u * tail > 1e-12) & np.isfinite(p.logpdf(x))
            wanted = (step * u * tail * difference)[inside].sum()
    found = float(D.kl_divergence(*(f.ours() for f in PAIRS[name])))
    if np.isinf(found):
        assert np.isinf(wanted) or wanted > 1e3 or "Pareto, Normal" in name
    else:
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


MATRIX = [[2.0, 0.5], [0.5, 1.0]]
VECTORS: dict[str, tuple[D.Distribution, D.Distribution]] = {
    "normal": (
        D.MultivariateNormal(number([[0.0, 1.0], [1.0, 1.0]]), number(MATRIX)),
        D.MultivariateNormal(number([0.5, 0.5]), precision_matrix=number(MATRIX)),
    ),
    "low rank": (
        D.LowRankMultivariateNormal(number([0.0, 1.0]), number([[1.0], [0.5]]), number([1.0, 0.5])),
        D.LowRankMultivariateNormal(number([0.2, 0.4]), number([[0.3], [1.5]]), number([1.5, 0.7])),
    ),
    "Dirichlet": (D.Dirichlet(number([0.7, 2.0, 1.1])), D.Dirichlet(number([1.5, 0.9, 2.0]))),
    "Wishart": (
        D.Wishart(number([3.0, 4.0]), number(MATRIX)),
        D.Wishart(number(3.5), precision_matrix=number(MATRIX)),
    ),
    "Wishart larger": (
        D.Wishart(number(3.5), precision_matrix=number(MATRIX)),
        D.Wishart(number([3.0, 4.0]), number(MATRIX)),
    ),
    "categorical": (
        D.Categorical(number([0.2, 0.3, 0.5])),
        D.Categorical(logits=number([0.1, 1.0, -0.4])),
    ),
    "one hot": (
        D.OneHotCategorical(number([0.2, 0.3, 0.5])),
        D.OneHotCategorical(logits=number([0.1, 1.0, -0.4])),
    ),
    "independent": (
        D.Independent(D.Normal(number([0.0, 1.0]), 1.0), 1),
        D.Independent(D.Normal(number([0.5, 0.0]), 2.0), 1),
    ),
    "transformed": (
        D.LogisticNormal(number([0.0, 1.0]), number(1.0)),
        D.LogisticNormal(number([0.5, 0.0]), number(2.0)),
    ),
}
mixed = VECTORS["normal"][0], VECTORS["low rank"][1]
VECTORS["normal, low rank"] = mixed
VECTORS["low rank, normal"] = mixed[1], VECTORS["normal"][0]


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    """The mean of the logarithm of the ratio of densities, over draws."""
    flambeau.manual_seed(4)
    p, q = VECTORS[name]
    found = D.kl_divergence(p, q)
    shape = flambeau.broadcast_shapes(p.batch_shape, q.batch_shape)
    assert found.shape == shape
    assert not found.requires_grad
    x = p.expand(shape).sample((40_000,))
    ratio = p.log_prob(x) - q.log_prob(x)
    error = array(ratio.std(0)) / 200
    assert (np.abs(array(ratio.mean(0) - found)) < 5 * error).all()


def test_impossible_values() -> None:
    p, q = number([0.0, 0.3, 1.0, 0.5]), number([0.5, 0.0, 1.0, 1.0])
    found = D.kl_divergence(D.Bernoulli(p), D.Bernoulli(q))
    np.testing.assert_allclose(array(found), [np.log(2), np.inf, 0, np.inf], atol=1e-7)
    certain, spread = number([1.0, 0.0]), number([0.5, 0.5])
    np.testing.assert_allclose(
        float(D.kl_divergence(D.Categorical(certain), D.Categorical(spread))), np.log(2), atol=1e-7
    )
    assert D.kl_divergence(D.Categorical(spread), D.Categorical(certain)) == np.inf
    assert D.kl_divergence(D.Poisson(number(1.0)), D.Poisson(number(0.0))) == np.inf
    assert D.kl_divergence(D.Poisson(number(0.0)), D.Poisson(number(1.5))) == 1.5
    assert D.kl_divergence(D.Uniform(-1.0, 0.5), D.Gamma(1.0, 1.0)) == np.inf
    assert D.kl_divergence(D.Uniform(0.5, 2.0), D.Beta(1.0, 1.0)) == np.inf
    assert D.kl_divergence(D.Binomial(4, number(0.5)), D.Binomial(3, number(0.5))) == np.inf


def test_gradients() -> None:
    """Divergences of exponential families without a formula of their own."""
    a, b = number([0.7, 2.0]).requires_grad_(), number([1.5, 0.9]).requires_grad_()

    def divergence(a: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
        return D.kl_divergence(D.Beta(a, b), D.Beta(b, a))

    assert flambeau.autograd.gradcheck(divergence, (a, b))
    assert flambeau.autograd.gradcheck(lambda a, b: D.Beta(a, b).entropy(), (a, b))


def test_entropy_follows_from_the_log_normalizer() -> None:
    class Rate(D.Exponential):
        """An exponential distribution without a formula for its entropy."""

        _mean_carrier_measure = 0.0
        entropy = D.ExponentialFamily.entropy

    rate = number([0.7, 2.0]).requires_grad_()
    np.testing.assert_allclose(array(Rate(rate).entropy()), 1 - np.log(array(rate)))
    assert flambeau.autograd.gradcheck(lambda r: Rate(r).entropy(), (rate,))
    with pytest.raises(NotImplementedError, match="Poisson has no mean of the carrier measure"):
        D.Poisson(1.0).entropy()


def test_registration() -> None:
    class Mine(D.Normal):
        def expand(self, batch_shape: object, _instance: object = None) -> Mine:
            raise AssertionError

    assert float(D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0))) == 0.5

    @D.register_kl(Mine, D.Normal)
    def mine(p: Mine, q: D.Normal) -> flambeau.Tensor:
        return p.loc + 7

    assert float(D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0))) == 7
    with pytest.raises(NotImplementedError, match=r"kl_divergence\(Normal, Cauchy\)"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))
    with pytest.raises(NotImplementedError, match=r"kl_divergence\(Wishart, Beta\)"):
        D.kl_divergence(VECTORS["Wishart"][0], D.Beta(1.0, 1.0))
    with pytest.raises(TypeError, match="expected classes of distributions"):
        D.register_kl(Mine, int)


def test_ambiguity_is_told() -> None:
    class Left(D.Distribution):
        pass

    class Right(Left):
        pass

    D.register_kl(Right, Left)(lambda p, q: flambeau.tensor(1.0))
    D.register_kl(Left, Right)(lambda p, q: flambeau.tensor(2.0))
    with pytest.warns(RuntimeWarning, match="ambiguous"):
        assert D.kl_divergence(Right(), Right()) == 1
