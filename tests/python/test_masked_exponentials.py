"""Sums of exponentials where masks leave -inf, and over the whole range of results."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

KINDS = ["float32", "float64"]


def _masked(rows: int, count: int, kind: str) -> np.ndarray:
    random = np.random.default_rng(count)
    x = random.standard_normal((rows, count)).astype(kind)
    x[random.random((rows, count)) < 0.5] = -np.inf
    x[:, count // 2] = 1
    return x


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp((x - x.max(axis, keepdims=True)).astype(np.longdouble))
    return shifted / shifted.sum(axis, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 17, 63, 130, 1037])
def test_masked_rows(count: int, kind: str) -> None:
    x = _masked(5, count, kind)
    close = {"rtol": 1e-5 if kind == "float32" else 1e-14}
    wanted = _softmax(x, 1)
    tensor = flambeau.from_numpy(x)
    np.testing.assert_allclose(flambeau.softmax(tensor, 1).numpy(), wanted, **close)
    turned = flambeau.from_numpy(np.ascontiguousarray(x.T)).T
    np.testing.assert_allclose(flambeau.softmax(turned, 1).numpy(), wanted, **close)
    columns = flambeau.softmax(flambeau.from_numpy(x.T.copy()), 0).numpy()
    np.testing.assert_allclose(columns, wanted.T, **close)
    logsum = np.log(np.exp(x.astype(np.longdouble)).sum(1))
    np.testing.assert_allclose(flambeau.logsumexp(tensor, 1).numpy(), logsum, atol=1e-6, **close)


@pytest.mark.parametrize("kind", KINDS)
def test_range_of_results(kind: str) -> None:
    lowest = -110 if kind == "float32" else -760
    x = np.linspace(lowest, 0, 20011).astype(kind)
    pairs = np.stack([x, np.zeros_like(x)], 1)
    found = flambeau.softmax(flambeau.from_numpy(pairs), 1).numpy()[:, 0]
    wanted = _softmax(pairs, 1)[:, 0]
    unit = np.spacing(wanted.astype(kind)).astype(np.longdouble)
    assert np.max(np.abs(found - wanted) / unit) < 3
    assert found[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_numbers(kind: str) -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[-inf] * 9, [nan] + [0] * 8, [inf] + [0] * 8, [3e38] + [-3e38] * 8], kind)
    found = flambeau.softmax(flambeau.from_numpy(x), 1).numpy()
    assert np.isnan(found[:3]).all()
    np.testing.assert_array_equal(found[3], [1] + [0] * 8)
    assert flambeau.softmax(flambeau.zeros(0, 3), 0).shape == (0, 3)
    np.testing.assert_array_equal(
        flambeau.logsumexp(flambeau.from_numpy(x), 1).numpy(),
        np.array([-inf, nan, inf, 3e38], kind),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_masked_attention(kind: str) -> None:
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((2, 3, 37, 8)).astype(kind) for _ in range(3))
    mask = _masked(37, 37, kind)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(8) + mask
    wanted = _softmax(scores, -1) @ v
    found = flambeau.nn.functional.scaled_dot_product_attention(
        *(flambeau.from_numpy(a) for a in (q, k, v)), attn_mask=flambeau.from_numpy(mask)
    )
    np.testing.assert_allclose(found.numpy(), wanted.astype(kind), rtol=1e-4, atol=1e-5)
