"""Libraries that compute with arrays of any kind take tensors; NumPy's functions do, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


REDUCTIONS: dict[str, Any] = {
    "min": lambda x: np.min(x, axis=0),
    "max": lambda x: np.max(x),
    "amax": lambda x: np.amax(x, axis=1, keepdims=True),
    "std": lambda x: np.std(x, axis=1, ddof=1),
    "var": lambda x: np.var(x),
    "prod": lambda x: np.prod(x, axis=0),
    "ptp": lambda x: np.ptp(x, axis=1),
    "sum": lambda x: np.sum(x, axis=0, initial=2.0),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True),
    "all": lambda x: np.all(x, axis=0),
}


@pytest.mark.parametrize("reduce", REDUCTIONS.values(), ids=REDUCTIONS)
def test_reductions_of_numpy_are_those_of_arrays(reduce: Any) -> None:
    """Methods of that name take other arguments, or give indices, too."""
    array = np.random.default_rng(0).normal(size=(3, 4))
    found = reduce(flambeau.from_numpy(array))
    assert isinstance(found, flambeau.Tensor)
    wanted = reduce(array)
    assert tuple(found.shape) == wanted.shape
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_numpy_counts_and_fills() -> None:
    x = flambeau.ones(3, 4)
    assert (np.size(x), np.size(x, 1), np.shape(x), np.ndim(x)) == (12, 4, (3, 4), 2)
    into = np.empty(4, np.float32)
    assert np.max(x, axis=0, out=into) is into
    assert into.tolist() == [1.0] * 4
    grown = np.sum(flambeau.ones(3, requires_grad=True))
    grown.backward()  # a method of the tensor, which records
