"""Initial values: distributions, fans, gains."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import init


@pytest.fixture(autouse=True)
def _seed() -> None:
    flambeau.manual_seed(0)


@pytest.mark.parametrize(
    ("nonlinearity", "param", "expected"),
    [
        ("linear", None, 1),
        ("conv2d", None, 1),
        ("sigmoid", None, 1),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / (1 + 0.01**2))),
        ("leaky_relu", 0.5, math.sqrt(2 / 1.25)),
        ("selu", None, 0.75),
    ],
)
def test_gain(nonlinearity: str, param: float | None, expected: float) -> None:
    assert init.calculate_gain(nonlinearity, param) == pytest.approx(expected)


def test_unknown_gain() -> None:
    with pytest.raises(ValueError, match="nosuch"):
        init.calculate_gain("nosuch")


@pytest.mark.parametrize(
    ("function", "deviation"),
    [
        (init.xavier_uniform_, math.sqrt(2 / (60 * 9 + 40 * 9))),
        (init.xavier_normal_, math.sqrt(2 / (60 * 9 + 40 * 9))),
        (init.kaiming_uniform_, math.sqrt(2 / (40 * 9))),
        (init.kaiming_normal_, math.sqrt(2 / (40 * 9))),
        (lambda t: init.kaiming_normal_(t, mode="fan_out"), math.sqrt(2 / (60 * 9))),
    ],
)
def test_deviation_follows_the_fans(function: object, deviation: float) -> None:
    weight = flambeau.empty(60, 40, 3, 3)
    assert function(weight) is weight  # type: ignore[operator]
    values = weight.numpy()
    assert values.std() == pytest.approx(deviation, rel=0.02)
    assert abs(values.mean()) < 3 * deviation / math.sqrt(values.size)


def test_uniform_stays_within_bounds() -> None:
    values = init.uniform_(flambeau.empty(10000), -2, 3).numpy()
    assert values.min() >= -2
    assert values.max() < 3
    assert values.mean() == pytest.approx(0.5, abs=0.05)


def test_truncated_normal() -> None:
    values = init.trunc_normal_(flambeau.empty(20000), mean=1, std=2, a=0, b=4).numpy()
    assert values.min() >= 0
    assert values.max() <= 4
    # Mean of a normal distribution cut at alpha = -0.5 and beta = 1.5 deviations.
    density = [math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) for x in (-0.5, 1.5)]
    share = (math.erf(1.5 / math.sqrt(2)) - math.erf(-0.5 / math.sqrt(2))) / 2
    assert values.mean() == pytest.approx(1 + 2 * (density[0] - density[1]) / share, abs=0.03)


def test_constants() -> None:
    weight = flambeau.empty(3, 4)
    assert (init.constant_(weight, 2.5).numpy() == 2.5).all()
    assert (init.ones_(weight).numpy() == 1).all()
    assert (init.zeros_(weight).numpy() == 0).all()
    np.testing.assert_array_equal(init.eye_(weight).numpy(), np.eye(3, 4))
    with pytest.raises(ValueError, match="matrix"):
        init.eye_(flambeau.empty(2))


def test_dirac_passes_channels_through() -> None:
    weight = init.dirac_(flambeau.empty(4, 2, 3, 3), groups=2)
    image = flambeau.randn(1, 4, 5, 5)
    result = nn.functional.conv2d(image, weight, None, 1, 1, 1, 2)  # type: ignore[attr-defined]
    np.testing.assert_allclose(result.numpy(), image.numpy())
    assert init.dirac_(flambeau.empty(0, 2, 3), groups=2**61).shape == (0, 2, 3)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        init.dirac_(weight, groups=0)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (6, 2, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    matrix = init.orthogonal_(flambeau.empty(*shape), gain=2).numpy().reshape(shape[0], -1)
    small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(small @ small.T, 4 * np.eye(len(small)), atol=1e-5)


def test_sparse_columns() -> None:
    matrix = init.sparse_(flambeau.empty(20, 5), sparsity=0.3).numpy()
    assert ((matrix == 0).sum(0) == 6).all()


def test_sparse_columns_without_rows_and_other_fractions() -> None:
    assert init.sparse_(flambeau.empty(0, 2**40), sparsity=0.3).shape == (0, 2**40)
    assert int((init.sparse_(flambeau.ones(7, 3), sparsity=0.0) == 0).sum()) == 0
    assert int((init.sparse_(flambeau.ones(7, 3), sparsity=1.0) == 0).sum()) == 21
    for sparsity in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"sparse_: sparsity must be within \[0, 1\], got"):
            init.sparse_(flambeau.ones(7, 3), sparsity=sparsity)


def test_fans_need_two_dimensions() -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        init.xavier_uniform_(flambeau.empty(3))


def test_initialization_is_not_recorded() -> None:
    weight = nn.Parameter(flambeau.empty(3, 3))
    init.kaiming_normal_(weight)
    assert weight.is_leaf
    assert weight.grad_fn is None


def test_layers_draw_in_order_of_construction() -> None:
    first = nn.Linear(3, 4)
    second = nn.Linear(4, 2)
    flambeau.manual_seed(0)
    both = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    np.testing.assert_array_equal(both[0].weight.detach().numpy(), first.weight.detach().numpy())
    np.testing.assert_array_equal(both[1].bias.detach().numpy(), second.bias.detach().numpy())


@pytest.mark.parametrize(
    ("layer", "bound"),
    [
        (lambda: nn.Linear(400, 300), 1 / 20),
        (lambda: nn.Conv2d(16, 200, 5), 1 / 20),
        (lambda: nn.LSTM(100, 400), 1 / 20),
        (lambda: nn.Bilinear(400, 8, 100), 1 / 20),
    ],
)
def test_default_bounds(layer: object, bound: float) -> None:
    for parameter in layer().parameters():  # type: ignore[operator]
        values = parameter.detach().numpy()
        assert abs(values).max() <= bound
        assert abs(values).max() > 0.95 * bound


def test_former_names_warn() -> None:
    tensor = flambeau.empty(3)
    with pytest.warns(FutureWarning, match="constant_"):
        assert init.constant(tensor, 2.0) is tensor
    assert tensor.tolist() == [2, 2, 2]
