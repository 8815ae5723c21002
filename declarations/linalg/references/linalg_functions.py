"""References for linalg_functions.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg


def matrix_exp(A: Any) -> Any:
    """Of SciPy, which knows stacks, but no empty ones."""
    return scipy.linalg.expm(A) if A.size else A


def matrix_exp_along(A: Any, direction: Any) -> Any:
    """The Fréchet derivative, of SciPy."""
    return scipy.linalg.expm_frechet(A, direction, compute_expm=False)


def tensorsolve(A: Any, B: Any, dims: Any) -> Any:
    """Of NumPy, which moves dims in the same way."""
    return np.linalg.tensorsolve(A, B, None if dims is None else tuple(dims))
