"""Maxima over windows that are long enough for vectors, against a scan in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F


def scanned(image: Any, rows: range, columns: range) -> int:
    """The place of the first of the largest elements, or of the last NaN."""
    best = (rows[0], columns[0])
    for place in ((y, x) for y in rows for x in columns):
        if image[place] > image[best] or np.isnan(image[place]):
            best = place
    return best[0] * image.shape[1] + best[1]


@pytest.mark.parametrize("height", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adaptive_maxima(height: int, dtype: Any) -> None:
    random = np.random.default_rng(height)
    for width in (33, 64, 150):
        for share in (0, 0.02, 0.5):
            image = random.integers(-3, 4, (height, width)).astype(dtype)
            image[random.random(image.shape) < share] = np.nan
            image[random.random(image.shape) < 0.2] = -0.0
            for windows in (1, 2, 3):
                given = flambeau.tensor(image[None])
                values, places = F.adaptive_max_pool2d(given, (1, windows), return_indices=True)
                for j in range(windows):
                    columns = range(j * width // windows, -(-(j + 1) * width // windows))
                    wanted = scanned(image, range(height), columns)
                    assert places[0, 0, j].item() == wanted
                    found = values[0, 0, j].numpy()
                    np.testing.assert_array_equal(found, image.ravel()[wanted])
                    assert np.signbit(found) == np.signbit(image.ravel()[wanted])
