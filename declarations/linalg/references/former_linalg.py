"""What packed results of former linear algebra stand for."""

from __future__ import annotations

from typing import Any

import numpy as np


def blocks(values: Any) -> Any:
    """The matrix of which packed eigenvectors are the invariant columns: a conjugate pair is a
    block of two rows.
    """
    made = np.diag(values[:, 0])
    for j in np.flatnonzero(values[:, 1] > 0):
        made[j, j + 1] = values[j, 1]
        made[j + 1, j] = -values[j, 1]
    return made


def ordered(numbers: Any) -> Any:
    """Complex numbers by their real parts, then by their imaginary ones."""
    return np.sort_complex(numbers)


def multiplied(factors: Any, pivots: Any) -> Any:
    """The matrices whose factors L and U lie in one, by the exchanges of rows, counted from 1."""
    made = np.empty_like(factors)
    for place in np.ndindex(factors.shape[:-2]):
        found = (np.tril(factors[place], -1) + np.eye(factors.shape[-1])) @ np.triu(factors[place])
        for row in reversed(range(pivots.shape[-1])):
            other = pivots[place][row] - 1
            found[[row, other]] = found[[other, row]]
        made[place] = found
    return made
