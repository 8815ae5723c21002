"""Least squares without right-hand sides: what the matrix alone says is known all the same."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize("driver", ["gelsd", "gelss", "gelsy"])
def test_no_right_hand_sides(driver: str) -> None:
    matrix = np.random.default_rng(0).standard_normal((2, 4, 3))
    sides = flambeau.zeros(2, 4, 0, dtype=flambeau.float64)
    found = flambeau.linalg.lstsq(flambeau.from_numpy(matrix), sides, driver=driver)
    assert tuple(found.solution.shape) == (2, 3, 0)
    assert found.rank.tolist() == [3, 3]
    if driver != "gelsy":
        wanted = np.linalg.svd(matrix, compute_uv=False)
        np.testing.assert_allclose(found.singular_values.numpy(), wanted)
