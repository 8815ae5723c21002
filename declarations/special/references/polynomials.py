"""Orthogonal polynomials by SciPy's, in the order of the entries' kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

Array = Any


def polynomial(kind: int, x: Array, n: Array) -> Array:
    """The polynomials of degree n at x. Those of the third and the fourth kind of Chebyshev's are
    quotients of cosines and sines of half the angle.
    """
    x, n = np.asarray(x, dtype=float), np.trunc(n)
    if kind in (2, 3):
        u, before = special.eval_chebyu(n, x), special.eval_chebyu(n - 1, x)
        before = np.where(n == 0, 0.0, before)
        return u - before if kind == 2 else u + before
    functions = {
        0: special.eval_chebyt,
        1: special.eval_chebyu,
        4: special.eval_hermite,
        5: special.eval_hermitenorm,
        6: special.eval_laguerre,
        7: special.eval_legendre,
    }
    degrees = n.astype(int) if kind in (4, 5) else n
    return functions[kind](degrees, x)
