"""Comparing results of the library with NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from operator_calls import to_array
from operator_cases import dtypes

from flambeau import Tensor
from flambeau.codegen.model.entries import Kind, Operator

# Relative to 1 + |expected|: a few units in the last place, times the length of short sums.
TOLERANCES = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 3e-5,
    "complex64": 3e-5,
    "float16": 8e-3,
    "bfloat16": 6e-2,
}


def tolerance(operator: Operator, *names: str) -> float:
    """What results may differ by when these dtypes take part."""
    declared = operator.test.tolerance or 0.0
    return max([declared, *(TOLERANCES.get(name, 0.0) for name in names)])


def floating(results: Sequence[Any]) -> list[str]:
    """The names of the inexact dtypes among results; float64 where there is none."""
    names: list[str] = []
    for value in results:
        if isinstance(value, list | tuple):
            names += floating(value)
        elif isinstance(value, Tensor) and value.dtype.name in TOLERANCES:
            names.append(value.dtype.name)
    return names or ["float64"]


def difference(
    operator: Operator, found: Sequence[Any], wanted: Sequence[Any], limit: float
) -> str | None:
    """What is wrong with results, one text; None where nothing is."""
    if len(found) != len(wanted):
        return f"{len(found)} results, expected {len(wanted)}"
    for index, (value, target) in enumerate(zip(found, wanted, strict=True)):
        if isinstance(value, list | tuple):
            wrong = difference(operator, value, list(target), limit)
        else:
            wrong = _one(operator, value, target, limit)
        if wrong is not None:
            return f"result {index}: {wrong}" if len(found) > 1 else wrong
    return None


def _one(operator: Operator, value: Any, target: Any, limit: float) -> str | None:
    if not isinstance(value, Tensor):
        return None if value == target else f"{value!r}, expected {target!r}"
    target = np.asarray(target)
    if tuple(value.shape) != target.shape:
        return f"shape {tuple(value.shape)}, expected {target.shape}"
    array = to_array(value)
    if array.size == 0:
        return None
    kind = dtypes()[value.dtype.name].category
    with np.errstate(all="ignore"):
        if kind in ("bool", "unsigned", "signed", "limited"):
            if target.dtype.kind in "fc":
                target = np.where(np.isfinite(target), target, 0)
            return _worst(array, target.astype(array.dtype), array == target.astype(array.dtype))
        if target.dtype.kind == "c" and kind == "float":
            if np.abs(target.imag).max() > 0:
                return f"dtype {value.dtype}, but the expected values are complex"
            target = target.real
        rounded = target.astype(np.complex128 if kind == "complex" else np.float64)
        if value.dtype.name == "float16":
            overflow = np.abs(rounded) > 65504
            rounded = np.where(overflow, np.sign(rounded) * np.inf, rounded)
        array = array.astype(rounded.dtype)
        finite = np.abs(rounded[np.isfinite(rounded)])
        size = np.abs(np.where(np.isfinite(rounded), rounded, 0))
        if operator.kind is not Kind.POINTWISE and finite.size:
            size = np.maximum(size, finite.max())
        close = np.abs(array - rounded) <= limit * (1 + size)
        same = (array == rounded) | (np.isnan(array) & np.isnan(rounded))
        return _worst(array, rounded, close | same)


def _worst(found: Any, wanted: Any, fine: Any) -> str | None:
    if np.all(fine):
        return None
    where = tuple(int(i) for i in np.argwhere(~np.asarray(fine))[0])
    count = int(np.sum(~np.asarray(fine)))
    return f"{found[where]!r} at {list(where)}, expected {wanted[where]!r} ({count} differ)"
