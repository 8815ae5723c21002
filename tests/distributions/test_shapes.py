"""Batches, events, expanding, checks of arguments and what is printed."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from families import FAMILIES, array, number

import flambeau
from flambeau import distributions as D
from flambeau.distributions import constraints
from flambeau.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

MATRIX = number([[2.0, 0.5], [0.5, 1.0]])
WEIGHTS = number([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
# A distribution, its batch and its events.
VECTORS: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "Dirichlet": (D.Dirichlet(WEIGHTS), (2,), (3,)),
    "Categorical": (D.Categorical(WEIGHTS), (2,), ()),
    "OneHotCategorical": (D.OneHotCategorical(logits=WEIGHTS), (2,), (3,)),
    "Multinomial": (D.Multinomial(4, WEIGHTS), (2,), (3,)),
    "MultivariateNormal": (D.MultivariateNormal(WEIGHTS[:, :2], MATRIX), (2,), (2,)),
    "LowRank": (
        D.LowRankMultivariateNormal(number([1.0, 2.0]), MATRIX[:, :1], WEIGHTS[:, :2]),
        *((2,), (2,)),
    ),
    "Wishart": (D.Wishart(number([3.0, 4.0, 5.0]), MATRIX), (3,), (2, 2)),
    "LKJCholesky": (D.LKJCholesky(3, number([1.0, 2.0])), (2,), (3, 3)),
    "LogisticNormal": (D.LogisticNormal(WEIGHTS, 1.0), (2,), (4,)),
    "Relaxed": (D.RelaxedOneHotCategorical(number(0.5), WEIGHTS), (2,), (3,)),
    "RelaxedBernoulli": (D.RelaxedBernoulli(number(0.5), WEIGHTS), (2, 3), ()),
    "Independent": (D.Independent(D.Gamma(WEIGHTS, 1.0), 1), (2,), (3,)),
    "Mixture": (
        D.MixtureSameFamily(D.Categorical(WEIGHTS[0]), D.Normal(WEIGHTS, 1.0)),
        *((2,), ()),
    ),
    "Mixture of vectors": (
        D.MixtureSameFamily(
            D.Categorical(WEIGHTS[0]), D.MultivariateNormal(number(np.eye(3)), number(np.eye(3)))
        ),
        *((), (3,)),
    ),
    "Transformed": (
        D.TransformedDistribution(D.Normal(WEIGHTS, 1.0), D.StickBreakingTransform()),
        *((2,), (4,)),
    ),
    "Transformed, larger": (
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(WEIGHTS, 1.0)),
        *((2, 3), ()),
    ),
}
ALL = {**VECTORS, **{n: (f.ours(), (), ()) for n, f in FAMILIES.items()}}


@pytest.mark.parametrize("name", ALL)
def test_batch_and_event(name: str) -> None:
    distribution, batch, event = ALL[name]
    assert distribution.batch_shape == batch and distribution.event_shape == event
    x = distribution.sample((4,))
    assert x.shape == (4, *batch, *event)
    assert distribution.log_prob(x).shape == (4, *batch)
    assert distribution.support.check(x).shape == (4, *batch)
    assert distribution.support.event_dim == len(event)
    for moment in ("mean", "variance", "mode", "stddev"):
        try:
            found = getattr(distribution, moment)
        except NotImplementedError:
            continue
        assert found.shape == (*batch, *event)
    with contextlib.suppress(NotImplementedError):
        assert distribution.entropy().shape == batch


@pytest.mark.parametrize("name", ALL)
def test_expand(name: str) -> None:
    distribution, batch, event = ALL[name]
    x = distribution.sample()
    larger = distribution.expand((5, *batch))
    assert type(larger) is type(distribution)
    assert larger.batch_shape == (5, *batch) and larger.event_shape == event
    assert larger.sample((2,)).shape == (2, 5, *batch, *event)
    wanted = array(distribution.log_prob(x))
    for found in larger.log_prob(x):
        np.testing.assert_allclose(array(found), wanted)
    assert larger.expand((3, 5, *batch)).batch_shape == (3, 5, *batch)
    assert distribution.batch_shape == batch
    with pytest.raises(RuntimeError):
        larger.expand((7, *batch))


def test_parameters_broadcast() -> None:
    normal = D.Normal(flambeau.zeros(3, 1), flambeau.ones(2))
    assert normal.batch_shape == (3, 2) and normal.scale.shape == (3, 2)
    assert D.Normal(0, 1).sample().dtype == flambeau.float32
    assert D.Normal(0, number(1.0)).loc.dtype == flambeau.float64
    assert D.Binomial(flambeau.tensor([3, 4]), 0.5).probs.dtype == flambeau.float32
    with pytest.raises(ValueError, match=r"parameters do not broadcast: loc \(2,\), scale \(3,\)"):
        D.Normal(flambeau.zeros(2), flambeau.ones(3))
    with pytest.raises(ValueError, match="expected tensors or numbers, got 'a'"):
        D.Normal("a", 1.0)


NEGATIVE = flambeau.tensor(-1.0)
MISTAKES: dict[str, Any] = {
    r"parameter scale .*GreaterThan\(lower_bound=0.0\)": lambda: D.Normal(0.0, -1.0),
    "parameter rate": lambda: D.Gamma(1.0, NEGATIVE),
    r"parameter probs .*Interval": lambda: D.Bernoulli(1.5),
    r"parameter probs .*Simplex": lambda: D.Categorical(flambeau.tensor([1.0, -0.5])),
    r"parameter low .*LessThan": lambda: D.Uniform(1.0, 0.0),
    "parameter concentration": lambda: D.Dirichlet(flambeau.zeros(2)),
    "parameter covariance_matrix": lambda: D.MultivariateNormal(
        flambeau.zeros(2), -flambeau.eye(2)
    ),
    "parameter total_count": lambda: D.Binomial(flambeau.tensor(2.5), 0.5),
    "expected probs or logits, got neither": lambda: D.Bernoulli(),
    "expected probs or logits, got probs and logits": lambda: D.Bernoulli(0.5, 0.0),
    "probs needs at least one dim": lambda: D.Categorical(flambeau.tensor(1.0)),
    "probs must be positive": lambda: D.Geometric(0.0),
    "expected one of covariance_matrix": lambda: D.MultivariateNormal(flambeau.zeros(2)),
    "must hold square matrices": lambda: D.MultivariateNormal(
        flambeau.zeros(2), flambeau.zeros(2, 3)
    ),
    "loc of shape .* does not fit": lambda: D.MultivariateNormal(
        flambeau.zeros(3), flambeau.eye(2)
    ),
    "expected loc .*cov_factor": lambda: D.LowRankMultivariateNormal(
        flambeau.zeros(2), flambeau.ones(3, 1), flambeau.ones(2)
    ),
    "df must be above 1": lambda: D.Wishart(1.0, flambeau.eye(2)),
    "dim must be an int of at least 2, got 1": lambda: D.LKJCholesky(1),
    "has no 1 dims": lambda: D.Independent(D.Normal(0.0, 1.0), 1),
    "expected a Categorical and a Distribution": lambda: D.MixtureSameFamily(
        D.Normal(0.0, 1.0),
        D.Normal(0.0, 1.0),
    ),
    "do not fit 2 weights": lambda: D.MixtureSameFamily(
        D.Categorical(flambeau.ones(2)), D.Normal(flambeau.zeros(3), 1.0)
    ),
    "need at least 1 dims": lambda: D.TransformedDistribution(
        D.Normal(0.0, 1.0), D.StickBreakingTransform()
    ),
    "Normal.log_prob: expected a tensor": lambda: D.Normal(0.0, 1.0).log_prob(1.0),
    "Normal.cdf: expected a tensor": lambda: D.Normal(0.0, 1.0).cdf(1.0),
    r"a value of shape \(3,\) does not broadcast": lambda: D.Normal(
        flambeau.zeros(2), 1.0
    ).log_prob(flambeau.zeros(3)),
    "outside the support Real": lambda: D.Normal(0.0, 1.0).log_prob(flambeau.tensor(float("nan"))),
    "outside the support Boolean": lambda: D.Bernoulli(0.5).log_prob(flambeau.tensor(0.5)),
    "expected a bool, got 3": lambda: D.Distribution.set_default_validate_args(3),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes(message: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){message}"):
        MISTAKES[message]()


def test_checks_can_be_left_out() -> None:
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    outside = flambeau.tensor(2.0)
    assert D.Uniform(0.0, 1.0, validate_args=False).log_prob(outside) == -float("inf")
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).expand((2,)).scale.tolist() == [-1, -1]
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="parameter scale"):
        D.Normal(0.0, -1.0)


PRINTED = {
    "Normal(loc: 0.0, scale: 1.0)": lambda: D.Normal(0.0, 1.0),
    "Bernoulli(probs: flambeau.Size([2]))": lambda: D.Bernoulli(flambeau.tensor([0.5, 0.1])),
    "Independent(Normal(loc: flambeau.Size([3]), scale: flambeau.Size([3])), 1)": lambda: (
        D.Independent(D.Normal(flambeau.zeros(3), 1.0), 1)
    ),
    "LogNormal()": lambda: D.LogNormal(0.0, 1.0),
    "GreaterThan(lower_bound=0.0)": lambda: constraints.positive,
    "IndependentConstraint(Real(), 1)": lambda: constraints.real_vector,
    "IntegerInterval(lower_bound=0, upper_bound=3)": lambda: constraints.integer_interval(0, 3),
    "_InverseTransform(ExpTransform())": lambda: D.ExpTransform().inv,
    "IndependentTransform(ExpTransform(), 1)": lambda: D.IndependentTransform(D.ExpTransform(), 1),
}


@pytest.mark.parametrize("text", PRINTED)
def test_printing(text: str) -> None:
    assert repr(PRINTED[text]()) == text


def test_what_is_missing_is_named() -> None:
    class Mine(D.Distribution):
        """Nothing of its own."""

    for name in ("mean", "mode", "variance", "stddev", "support"):
        with pytest.raises(NotImplementedError, match="Mine has no"):
            getattr(Mine(), name)
    for name, arguments in {
        "sample": (),
        "rsample": (),
        "log_prob": (flambeau.zeros(()),),
        "cdf": (flambeau.zeros(()),),
        "icdf": (flambeau.zeros(()),),
        "entropy": (),
        "perplexity": (),
        "enumerate_support": (),
    }.items():
        with pytest.raises(NotImplementedError, match="Mine has no"):
            getattr(Mine(), name)(*arguments)


def test_distributions_outside_the_library() -> None:
    """Classes that override what PyTorch's override."""

    class Twice(D.Distribution):
        has_rsample = True

        def __init__(self, loc: flambeau.Tensor) -> None:
            self.loc = loc
            super().__init__(loc.shape)

        def rsample(self, sample_shape: Any = ()) -> flambeau.Tensor:
            return 2 * self.loc.expand(self._extended_shape(sample_shape))

        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(Twice, _instance)
            new.loc = self.loc.expand(batch_shape)
            D.Distribution.__init__(new, batch_shape, validate_args=False)
            return new

    loc = flambeau.ones(2, requires_grad=True)
    assert not Twice(loc).sample((3,)).requires_grad
    assert Twice(loc).expand((4, 2)).rsample().shape == (4, 2)

    class Thrice(Twice):
        def __init__(self) -> None:
            super().__init__(flambeau.ones(3))

    with pytest.raises(NotImplementedError, match="Thrice has an __init__ of its own"):
        Thrice().expand((2, 3))

    class Shifted(D.TransformedDistribution):
        def __init__(self) -> None:
            self.shift = flambeau.ones(2)
            super().__init__(D.Normal(0.0, 1.0), D.AffineTransform(self.shift, 1.0))

    with pytest.raises(NotImplementedError, match="does not know the attribute 'shift'"):
        Shifted().expand((3, 2))

    class Centered(D.Normal):
        def __init__(self, scale: flambeau.Tensor) -> None:
            super().__init__(0.0, scale)

    assert Centered(flambeau.ones(2)).expand((3, 2)).batch_shape == (3, 2)

    class Holder(D.Normal):
        def __init__(self) -> None:
            self.other = flambeau.ones(2)
            super().__init__(flambeau.zeros(2), 1.0)

    with pytest.raises(NotImplementedError, match="does not know the attribute 'other'"):
        Holder().expand((3, 2))


def test_supports_of_classes() -> None:
    """What is known without an instance."""
    assert constraints.is_dependent(D.Uniform.support)
    assert D.Uniform.support.event_dim == 0 and not D.Uniform.support.is_discrete
    assert D.Categorical.support.is_discrete
    assert not constraints.is_dependent(D.Normal.support)
    with pytest.raises(ValueError, match="cannot be checked"):
        constraints.dependent.check(flambeau.ones(1))
    with pytest.raises(NotImplementedError, match="event_dim of a set"):
        constraints.dependent.event_dim  # noqa: B018
    assert constraints.dependent(event_dim=2).event_dim == 2


CHECKS: dict[str, tuple[Any, list[Any], list[bool]]] = {
    "boolean": (constraints.boolean, [0.0, 1.0, 0.5], [True, True, False]),
    "one_hot": (constraints.one_hot, [[1.0, 0.0], [1.0, 1.0], [0.5, 0.5]], [True, False, False]),
    "nonnegative_integer": (
        constraints.nonnegative_integer,
        [0.0, 1.5, -1.0],
        [True, False, False],
    ),
    "positive_integer": (constraints.positive_integer, [0.0, 2.0], [False, True]),
    "integer_interval": (constraints.integer_interval(1, 2), [0.0, 1.0, 2.0], [False, True, True]),
    "real": (constraints.real, [0.0, float("inf"), float("nan")], [True, True, False]),
    "positive": (constraints.positive, [0.0, 1.0], [False, True]),
    "nonnegative": (constraints.nonnegative, [0.0, -1.0], [True, False]),
    "less_than": (constraints.less_than(1.0), [1.0, 0.0], [False, True]),
    "interval": (constraints.interval(0.0, 1.0), [1.0, 2.0], [True, False]),
    "half_open_interval": (constraints.half_open_interval(0.0, 1.0), [0.0, 1.0], [True, False]),
    "simplex": (constraints.simplex, [[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]], [True, False, False]),
    "multinomial": (constraints.multinomial(2), [[1.0, 1.0], [2.0, 1.0]], [True, False]),
    "lower_triangular": (
        constraints.lower_triangular,
        [[[1.0, 0.0], [1.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]],
        [True, False],
    ),
    "lower_cholesky": (
        constraints.lower_cholesky,
        [[[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, -1.0]]],
        [True, False],
    ),
    "corr_cholesky": (
        constraints.corr_cholesky,
        [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.6]]],
        [True, False],
    ),
    "square": (constraints.square, [[[1.0, 0.0], [0.6, 0.8]]], [True]),
    "symmetric": (
        constraints.symmetric,
        [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]],
        [True, False],
    ),
    "positive_definite": (
        constraints.positive_definite,
        [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]],
        [True, False],
    ),
    "positive_semidefinite": (
        constraints.positive_semidefinite,
        [[[2.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]],
        [True, False],
    ),
    "cat": (
        constraints.cat([constraints.positive, constraints.real], 0, [1, 2]),
        [0.0, 0.0, -1.0],
        [False, True, True],
    ),
    "mixture": (
        constraints.MixtureSameFamilyConstraint(constraints.interval(0.0, number([1.0, 2.0]))),
        [0.5, 1.5],
        [True, False],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_constraints(name: str) -> None:
    constraint, values, wanted = CHECKS[name]
    assert constraint.check(number(values)).tolist() == wanted


@pytest.mark.parametrize("diag", [-2, -1, 0, 1, 2])
def test_triangles(diag: int) -> None:
    matrix = number(np.arange(1.0, 33.0).reshape(2, 4, 4))
    vector = tril_matrix_to_vec(matrix, diag)
    rows, columns = np.tril_indices(4, diag)
    np.testing.assert_array_equal(array(vector), array(matrix)[:, rows, columns])
    np.testing.assert_array_equal(
        array(vec_to_tril_matrix(vector, diag)), np.tril(array(matrix), diag)
    )
    with pytest.raises(ValueError, match="diag must lie in"):
        tril_matrix_to_vec(matrix, 4)
    with pytest.raises(ValueError, match="2 elements fill no matrix"):
        vec_to_tril_matrix(number([1.0, 2.0]), 0)
