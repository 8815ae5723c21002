"""Weighted sums of a few elements each."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def table(places: Array, weights: Array, length: int) -> Array:
    """Matrices, [n, p, l], whose products with the elements are the sums."""
    chosen = places[..., None] == np.arange(length)
    return np.asarray(np.einsum("nkp,nkpl->npl", weights, chosen.astype(weights.dtype)))


def tapped(x: Array, places: Array, weights: Array) -> Array:
    """The sums."""
    return np.asarray(np.einsum("npl,nclm->ncpm", table(places, weights, x.shape[2]), x))


def tapped_twice(
    x: Array, row_places: Array, row_weights: Array, places: Array, weights: Array
) -> Array:
    """The sums along both dims."""
    rows = table(row_places[None], row_weights[None], x.shape[1])[0]
    columns = table(places[None], weights[None], x.shape[2])[0]
    return np.asarray(np.einsum("ph,qw,nhwm->npqm", rows, columns, x))


def tapped_grad(grad: Array, places: Array, weights: Array, length: int) -> Array:
    """Products with the transposed matrices."""
    return np.asarray(np.einsum("npl,ncpm->nclm", table(places, weights, length), grad))


def tapped_weights_grad(grad: Array, x: Array, places: Array) -> Array:
    """How much each weight moves the sums."""
    rows = np.arange(len(x))[:, None, None]
    read = np.moveaxis(x, 2, 1)[rows, places]  # [n, k, p, c, m]
    return np.asarray(np.einsum("nkpcm,ncpm->nkp", read, grad))
