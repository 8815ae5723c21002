"""References for sparse_parts.yaml. An array stands for a sparse tensor: its elements
that are not zero are those that the tensor holds, in row-major order.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def made(indices: Any, values: Any, size: Any) -> Any:
    """An array of a shape with values added at places."""
    result = np.zeros(tuple(size), np.asarray(values).dtype)
    np.add.at(result, tuple(np.asarray(indices)), values)
    return result


def indices(array: Any) -> Any:
    """The places of what is not zero, a row for each dim."""
    return np.stack(np.nonzero(np.asarray(array)))


def values(array: Any) -> Any:
    """What is not zero."""
    return np.asarray(array)[np.nonzero(np.asarray(array))]


def like(array: Any, new: Any) -> Any:
    """An array with other values where one is not zero."""
    return made(indices(array), new, np.shape(array))


def taken(array: Any, places: Any) -> Any:
    """The elements at places."""
    return np.asarray(array)[tuple(np.asarray(places))]


def flat(places: Any, size: Any) -> Any:
    """Places counted in row-major order."""
    return np.ravel_multi_index(tuple(places), tuple(size)[: len(places)])


def unflat(counted: Any, size: Any) -> Any:
    """The same, undone."""
    return np.stack(np.unravel_index(counted, tuple(size)))


def product(places: Any, elements: Any, rows: int, matrix: Any) -> Any:
    """A matrix of so many rows with elements at places, times another."""
    left = made(places, elements, (rows, np.shape(matrix)[0]))
    return left @ matrix


def sampled(places: Any, left: Any, right: Any) -> Any:
    """Elements at places of `left` times the transpose of the conjugate of `right`."""
    return (left @ np.conj(right).T)[tuple(places)]


def pattern(places: Any, others: Any, size: Any) -> Any:
    """Where the product of matrices with ones at places is not zero."""
    rows, inner, columns = size
    first = made(places, np.ones(np.shape(places)[1]), (rows, inner))
    second = made(others, np.ones(np.shape(others)[1]), (inner, columns))
    return indices(first @ second)


def product_at(
    wanted: Any, places: Any, elements: Any, others: Any, numbers: Any, size: Any
) -> Any:
    """Elements of the product of two matrices that have elements at places."""
    rows, inner, columns = size
    first, second = made(places, elements, (rows, inner)), made(others, numbers, (inner, columns))
    return (first @ second)[tuple(wanted)]
