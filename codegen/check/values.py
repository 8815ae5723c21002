"""What operators give in NumPy: which value is which result, and how near two values are."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.model.entries import Operator

Values = dict[str, Any]
TOLERANCE = 1e-7  # relative and absolute, where an entry gives none


def result_names(operator: Operator) -> list[str]:
    """The visible results; without any, the arguments that are written in place."""
    names = [r.name for r in operator.signature.visible_results]
    return names or [a.name for a in operator.signature.arguments if a.type.mutable]


def named_results(operator: Operator, value: Any) -> Values:
    """The results by name, of what a reference or a body gives: one value, or a tuple of several.

    Raises EvaluationError.
    """
    names = result_names(operator)
    several = value if len(names) != 1 else (value,)
    if not isinstance(several, list | tuple) or len(several) != len(names):
        raise EvaluationError(nodes.NoneLiteral(), f"it gives no tuple of {len(names)} results")
    return dict(zip(names, several, strict=True))


def reduction_rows(array: Any, dims: int | list[int] | None) -> tuple[Any, tuple[int, ...]]:
    """[results, elements] of a reduction over some dims (none given: all), and those dims.

    Raises EvaluationError.
    """
    rank = max(array.ndim, 1)
    given = [dims] if isinstance(dims, int) else dims or list(range(rank))
    for dim in given:
        if not -rank <= dim < rank:
            message = f"dim {dim} is out of range for the shape {list(array.shape)}"
            raise EvaluationError(nodes.NoneLiteral(), message)
    chosen = tuple(sorted({d % rank for d in given} & set(range(array.ndim))))
    kept = [d for d in range(array.ndim) if d not in chosen]
    count, outer = (int(np.prod([array.shape[d] for d in ds], dtype=int)) for ds in (chosen, kept))
    return np.transpose(array, [*kept, *chosen]).reshape(outer, count), chosen


def described(value: Any) -> str:
    """What it is, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def is_differentiable(value: Any) -> bool:
    """Whether it is an array of floating or complex numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to the other shape."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def close(found: Any, expected: Any, tolerance: float | None) -> bool:
    """Whether two values are the same to a relative and absolute tolerance."""
    limit = tolerance if tolerance is not None else TOLERANCE
    try:
        found, expected = np.broadcast_arrays(np.asarray(found), np.asarray(expected))
    except ValueError:
        return False
    if found.dtype.kind in "OU" or expected.dtype.kind in "OU":
        return bool(np.all(found == expected))
    return bool(np.allclose(found, expected, rtol=limit, atol=limit, equal_nan=True))


def worst(found: Any, expected: Any) -> tuple[str, str]:
    """Where two values differ most, as text; or their shapes, where these differ."""
    try:
        found, expected = np.broadcast_arrays(np.asarray(found), np.asarray(expected))
    except ValueError:
        return f"the shape {list(np.shape(found))}", f"{list(np.shape(expected))}"
    with np.errstate(all="ignore"):
        distance = np.abs(np.subtract(found, expected, dtype=np.complex128))
    place = np.unravel_index(int(np.argmax(np.nan_to_num(distance, nan=np.inf))), distance.shape)
    return f"{found[place]:.9g}", f"{expected[place]:.9g}"
