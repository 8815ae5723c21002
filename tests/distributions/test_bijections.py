"""Transforms invert, and their determinants are those of Jacobians by autograd."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from families import array, number

import flambeau
from flambeau import Tensor
from flambeau import distributions as D
from flambeau.distributions import constraints

MATRIX = [[0.3, -0.4], [0.7, 1.0]]
ROWS = [[0.3, -0.4, 1.0], [0.0, 2.0, -1.0]]
SIZES = [[0.3, 0.4, 1.0], [0.2, 2.0, 1.5]]
exp, tanh = D.ExpTransform(), D.TanhTransform()
halved = D.AffineTransform(0.0, 0.5)

# A transform and an argument.
TRANSFORMS: dict[str, tuple[D.Transform, list[list[float]]]] = {
    "exp": (exp, ROWS),
    "power": (D.PowerTransform(number(1.7)), SIZES),
    "power below 0": (D.PowerTransform(number([-1.0, 2.0, 0.5])), SIZES),
    "sigmoid": (D.SigmoidTransform(), ROWS),
    "softplus": (D.SoftplusTransform(), ROWS),
    "tanh": (tanh, ROWS),
    "affine": (D.AffineTransform(1.0, number([2.0, -3.0, 1.0])), ROWS),
    "affine of vectors": (D.AffineTransform(1.0, -2.0, event_dim=1), ROWS),
    "stick": (D.StickBreakingTransform(), ROWS),
    "correlation": (D.CorrCholeskyTransform(), ROWS),
    "composed": (D.ComposeTransform([D.AffineTransform(0.0, 2.0), exp]), ROWS),
    "composed of vectors": (D.ComposeTransform([halved, D.StickBreakingTransform()]), ROWS),
    "inverse": (exp.inv, SIZES),
    "independent": (D.IndependentTransform(exp, 1), ROWS),
    "reshape": (D.ReshapeTransform((3,), (3, 1)), ROWS),
    "cat": (D.CatTransform([exp, tanh], dim=-1, lengths=[1, 2]), ROWS),
    "cat of rows": (D.CatTransform([exp, tanh]), ROWS),
    "cat of vectors": (
        D.CatTransform([D.IndependentTransform(exp, 1), D.IndependentTransform(tanh, 1)]),
        ROWS,
    ),
    "stack": (D.StackTransform([exp, tanh]), ROWS),
    "quantiles": (D.CumulativeDistributionTransform(D.Normal(number(0.0), number(2.0))), ROWS),
    "identity": (D.identity_transform, ROWS),
}
# Of these only the way there and back to the same result holds.
OTHERS: dict[str, tuple[D.Transform, list[list[float]]]] = {
    "abs": (D.AbsTransform(), [[0.3, -0.4], [2.0, -1.0]]),
    "softmax": (D.SoftmaxTransform(), ROWS),
    "lower Cholesky": (D.LowerCholeskyTransform(), MATRIX),
    "positive definite": (D.PositiveDefiniteTransform(), MATRIX),
}


@pytest.mark.parametrize("name", TRANSFORMS | OTHERS)
def test_round_trip(name: str) -> None:
    transform, x = (TRANSFORMS | OTHERS)[name][0], number((TRANSFORMS | OTHERS)[name][1])
    y = transform(x)
    assert transform.codomain.check(y).all()
    assert transform.domain.check(x).all()
    again = transform.inv(y)
    if name in TRANSFORMS:
        assert transform.bijective
        np.testing.assert_allclose(array(again), array(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(array(transform(again)), array(y), rtol=1e-9)
    assert transform.forward_shape(x.shape) == y.shape
    assert transform.inverse_shape(y.shape) == x.shape
    assert transform.inv.inv == transform


def free(name: str, y: Tensor) -> Tensor:
    """Of results with fewer degrees of freedom than elements, the free ones."""
    if name in ("stick", "composed of vectors"):
        return y[:-1]
    if name == "correlation":
        return D.utils.tril_matrix_to_vec(y, -1)
    return y.reshape(-1)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_log_det_jacobian(name: str) -> None:
    transform, rows = TRANSFORMS[name]
    x = number(rows)
    found = transform.log_abs_det_jacobian(x, transform(x))
    events = transform.domain.event_dim
    assert found.shape == x.shape[: x.dim() - events]
    if events == 0 and transform.domain.event_dim == transform.codomain.event_dim:
        jacobian = flambeau.autograd.functional.jacobian(transform, x).reshape(6, 6)
        wanted = jacobian.diagonal().abs().log().reshape(2, 3)
    elif name.startswith("cat"):
        jacobian = flambeau.autograd.functional.jacobian(transform, x).reshape(6, 6)
        wanted = jacobian.diagonal().abs().log().reshape(2, 3).sum(-1)
    else:
        wanted = flambeau.stack(
            [
                flambeau.linalg.slogdet(
                    flambeau.autograd.functional.jacobian(lambda v: free(name, transform(v)), row)
                ).logabsdet
                for row in x
            ]
        )
    np.testing.assert_allclose(array(found), array(wanted), rtol=1e-9, atol=1e-12)
    back = transform.inv.log_abs_det_jacobian(transform(x), x)
    np.testing.assert_allclose(array(back), -array(found))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_sign(name: str) -> None:
    """Of increasing and falling functions."""
    transform, rows = TRANSFORMS[name]
    try:
        sign = transform.sign
    except NotImplementedError:
        return
    x = number(rows)
    moved = transform(x + 1e-3) - transform(x)
    assert (moved.sign() == sign).all()


@pytest.mark.parametrize("name", TRANSFORMS | OTHERS)
def test_cache_and_pickle(name: str) -> None:
    transform, rows = (TRANSFORMS | OTHERS)[name]
    x = number(rows)
    if name not in ("identity",):
        cached = transform.with_cache(1)
        y = cached(x)
        assert cached(x) is y or isinstance(cached, D.ComposeTransform)
        assert cached.inv(y) is x
        assert cached.with_cache(1) is cached
    copy = pickle.loads(pickle.dumps(transform))
    np.testing.assert_array_equal(array(copy(x)), array(transform(x)))


def test_equality() -> None:
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform()
    assert D.AffineTransform(1.0, 2.0) == D.AffineTransform(number(1.0), 2.0)
    assert D.AffineTransform(1.0, 2.0) != D.AffineTransform(1.0, 3.0)
    assert D.PowerTransform(2.0) == D.PowerTransform(2.0) != D.PowerTransform(3.0)
    assert D.ComposeTransform([exp]) == D.ComposeTransform([exp])
    assert len({D.ExpTransform(), D.ExpTransform(), exp.inv, D.ExpTransform().inv}) == 2


CONSTRAINTS = {
    "real": constraints.real,
    "positive": constraints.positive,
    "nonnegative": constraints.nonnegative,
    "above": constraints.greater_than(1.0),
    "from": constraints.greater_than_eq(number([1.0, 2.0, 3.0])),
    "below": constraints.less_than(-1.0),
    "interval": constraints.interval(-1.0, number([2.0, 3.0, 4.0])),
    "half open": constraints.half_open_interval(0.0, 3.0),
    "unit": constraints.unit_interval,
    "simplex": constraints.simplex,
    "vector": constraints.real_vector,
    "lower Cholesky": constraints.lower_cholesky,
    "positive definite": constraints.positive_definite,
    "positive semidefinite": constraints.positive_semidefinite,
    "correlation": constraints.corr_cholesky,
    "independent": constraints.independent(constraints.simplex, 1),
    "cat": constraints.cat([constraints.positive, constraints.real], -1, [1, 2]),
    "stack": constraints.stack([constraints.positive, constraints.unit_interval]),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_constraints_are_reached(
    name: str, registry: D.constraint_registry.ConstraintRegistry
) -> None:
    constraint = CONSTRAINTS[name]
    of_matrices = ("lower Cholesky", "positive definite", "positive semidefinite")
    if registry is D.biject_to and name in of_matrices:
        with pytest.raises(NotImplementedError, match="no transform onto"):
            registry(constraint)
        return
    x = number(MATRIX if name in of_matrices else ROWS)
    transform = registry(constraint)
    y = transform(10 * x if name == "unit" else x)
    assert constraint.check(y).all()
    if registry is D.biject_to:
        assert transform.bijective
        np.testing.assert_allclose(array(transform(transform.inv(y))), array(y), rtol=1e-8)


def test_registering() -> None:
    class Even(constraints.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()

    @registry.register(Even)
    def make(constraint: Even) -> D.Transform:
        return D.AffineTransform(0.0, 2.0)

    assert registry(Even()) == D.AffineTransform(0.0, 2.0)
    with pytest.raises(TypeError, match="expected a constraint or a type of them"):
        registry.register(3)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="cache_size is 0 or 1, got 2"):
        D.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match="different numbers of elements"):
        D.ReshapeTransform((2,), (3,))
    with pytest.raises(ValueError, match=r"expected a shape that ends in \(3,\)"):
        D.ReshapeTransform((3,), (1, 3))(number([1.0, 2.0]))
    with pytest.raises(ValueError, match="fill no triangle"):
        D.CorrCholeskyTransform().forward_shape((4,))
    with pytest.raises(ValueError, match="expected at least 1 dims"):
        D.StickBreakingTransform().forward_shape(())
    with pytest.raises(ValueError, match="expected 2 elements along dim 0"):
        D.StackTransform([exp, tanh])(number([1.0]))
    with pytest.raises(ValueError, match="expected a length per transform"):
        D.CatTransform([exp, tanh], lengths=[1])
    with pytest.raises(NotImplementedError, match="SoftmaxTransform has no log_abs_det_jacobian"):
        D.SoftmaxTransform().log_abs_det_jacobian(number([0.0]), number([1.0]))
    with pytest.raises(ValueError, match="arguments have 1 event dims"):
        D.CorrCholeskyTransform().event_dim  # noqa: B018
