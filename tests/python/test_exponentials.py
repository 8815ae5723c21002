"""e^x and 2^x of every size, with NumPy: results below the normal range, infinite ones, and those
of the infinities that masks are made of."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

EXTREMES = {
    "float32": [-87.3, -88.0, -100.0, -103.9, -104.0, -1e30, 88.7, 88.73, 1e30, 0.0, -0.0],
    "float64": [-708.3, -709.0, -740.0, -745.1, -745.2, -1e300, 709.7, 709.79, 1e300, 0.0, -0.0],
}


def numbers(dtype: str, length: int) -> np.ndarray:
    given = [*EXTREMES[dtype], np.inf, -np.inf, np.nan]
    most = 88 if dtype == "float32" else 709
    random = np.random.default_rng(length).uniform(-most, most, length)
    random[::3] = np.resize(given, len(random[::3]))
    return random.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 63, 1000])
def test_powers_of_e(dtype: str, length: int) -> None:
    x = numbers(dtype, 2 * length)
    with np.errstate(over="ignore"):
        expected = np.exp(x.astype("longdouble")).astype(dtype)
    found = flambeau.tensor(x).exp().numpy()
    least = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(found, expected, rtol=2 * np.finfo(dtype).eps, atol=least)
    every_other = flambeau.tensor(x)[::2].exp().numpy()
    np.testing.assert_array_equal(every_other, found[::2])


@pytest.mark.parametrize("length", [1, 33, 500])
def test_powers_of_two(length: int) -> None:
    x = numbers("float32", length) * np.float32(1.5)
    with np.errstate(over="ignore"):
        expected = np.exp2(x.astype("float64")).astype("float32")
    found = flambeau.tensor(x).exp2().numpy()
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=2e-45)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [3, 16, 65, 300])
def test_masked_rows(dtype: str, columns: int) -> None:
    random = np.random.default_rng(columns)
    x = random.standard_normal((5, columns)).astype(dtype)
    x[random.random(x.shape) < 0.5] = -np.inf
    x[:, 1] = 0
    power = np.exp((x - x.max(1, keepdims=True)).astype("longdouble"))
    expected = (power / power.sum(1, keepdims=True)).astype(dtype)
    for given in (flambeau.tensor(x), flambeau.tensor(x.T.copy()).mT):
        found = given.softmax(1).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-13)
        assert (found[np.isneginf(x)] == 0).all()
