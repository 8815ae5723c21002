"""Libraries that compute with arrays of any kind take tensors; NumPy's functions do, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau


def test_scipy_and_scikit_learn_compute_with_tensors() -> None:
    program = Path(__file__).with_name("array_libraries.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "27 called\n"


def test_functions_of_numpy_give_tensors() -> None:
    x = flambeau.tensor([0.5, 1.0, 2.0])
    array = np.array([0.5, 1.0, 2.0], np.float32)
    for seen, wanted in (
        (np.sin(x), np.sin(array)),
        (np.add(array, x), array + array),
        (np.maximum(x, 1), np.maximum(array, 1)),
        (np.isfinite(x), np.isfinite(array)),
        (np.sum(x), array.sum()),
        (array + x, array + array),
        (x - array, array - array),
    ):
        assert isinstance(seen, flambeau.Tensor)
        assert seen.numpy().dtype == wanted.dtype
        np.testing.assert_array_equal(seen.numpy(), wanted)
    whole, part = np.divmod(x, 0.75)
    assert isinstance(whole, flambeau.Tensor) and isinstance(part, flambeau.Tensor)
    np.testing.assert_array_equal(np.concatenate([x, x]), np.concatenate([array, array]))
    into = np.empty(3, np.float32)
    assert np.multiply(x, x, out=into) is into
    np.testing.assert_array_equal(into, array * array)


def test_arrays_record_no_gradients() -> None:
    with pytest.raises(RuntimeError, match=r"requires grad.*use detach\(\)"):
        np.sin(flambeau.ones(2, requires_grad=True))
