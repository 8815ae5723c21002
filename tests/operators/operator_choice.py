"""Which samples a test is for, told from NumPy's values before anything is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from operator_cases import (
    ARRAY,
    Case,
    NoReferenceError,
    Values,
    arrays,
    dtypes,
    expected,
    operators,
)

from flambeau.codegen.model.entries import Kind, Operator

# A kind of numbers can be written into itself and those that come later.
_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_CATEGORIES = {"bool": 0, "unsigned": 1, "signed": 1, "limited": 1, "float": 2, "complex": 3}


def samples(operator: Operator) -> list[Case]:
    """All of one operator."""
    return [Case(operator, index) for index in range(len(operator.test.samples))]


def sample_with(operator: Operator, holds: Callable[[Values], bool]) -> Case | None:
    """The first sample whose values are so."""
    return next((case for case in samples(operator) if holds(case.values())), None)


def first_array(operator: Operator, values: Values) -> Any:
    """The value of the first tensor argument; None where it is no array."""
    name = next((a.name for a in operator.signature.arguments if a.type.is_tensor), None)
    value = values.get(name) if name else None
    return value if isinstance(value, ARRAY) else None


@cache
def result_fits(case: Case) -> bool:
    """Whether the first tensor can hold the result: by its shape and its kind of numbers. It
    becomes the view that an operator makes.
    """
    if case.operator.kind is Kind.VIEW:
        return True
    values = case.values()
    first = first_array(case.operator, values)
    if first is None:
        return False
    try:
        result = np.asarray(expected(case.operator, values)[0])
    except NoReferenceError:
        return False
    return result.shape == first.shape and _ORDER[result.dtype.kind] <= _ORDER[first.dtype.kind]


def fitting(operator: Operator, count: int = 1) -> list[Case]:
    """Samples for a form that writes the result into the first tensor."""
    found = [case for case in samples(operator) if result_fits(case)]
    if not found and operator.kind is Kind.POINTWISE and operator.test.samples:
        found = [case for case in [Case(operator, 0, filled=True)] if result_fits(case)]
    return found[:count]


def has_inplace(operator: Operator) -> bool:
    """Whether there is a form that writes into the first tensor."""
    return "inplace" in operator.variants


INPLACE = [o for o in operators() if has_inplace(o) and o.test.samples]


@cache
def twins(case: Case) -> tuple[str, str] | None:
    """The first two tensor arguments, where one tensor can stand for both."""
    found = [(a.name, v) for a, v in arrays(case.operator, case.values()) if a.type.is_tensor]
    if len(found) < 2:
        return None
    (first, one), (second, other) = found[:2]
    return (first, second) if (one.shape, one.dtype) == (other.shape, other.dtype) else None


def refuses_number(operator: Operator, values: Values, names: list[str], number: float) -> bool:
    """Whether numbers of this kind, beside the sample's tensors, are outside the dtype rule."""
    kinds = [_ORDER[np.asarray(number).dtype.kind]]
    kinds += [
        _ORDER[array.dtype.kind]
        for argument, array in arrays(operator, values)
        if argument.name in operator.dtypes.promote
    ]
    taken = {
        _CATEGORIES[dtypes()[dtype].category]
        for name in names
        for dtype in operator.dtypes.accepts[name]
    }
    return max(kinds) not in taken
