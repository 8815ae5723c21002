"""Formulas that signed and unsigned integers may share a loop for, over every pair of bytes."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.signs import ignores_sign
from flambeau.codegen.formula.to_cpp import ScalarType
from flambeau.codegen.formula.to_numpy import to_numpy

SYMBOLS = {
    "a": ScalarType.ELEMENT,
    "b": ScalarType.ELEMENT,
    "number": ScalarType.NUMBER,
    "index": ScalarType.INDEX,
    "factor": ScalarType.FLOAT,
}
SHARED = [
    "a + b",
    "a - b",
    "-a",
    "a * b + a",
    "a ** 3",
    "a & b | ~a",
    "a ^ 1",
    "a if b else 0",
    "where(a == b, a, b)",
    "a + number * b",
]
APART = [
    "a // b",
    "a / b",
    "a % b",
    "a >> 1",
    "maximum(a, b)",
    "abs(a)",
    "a * factor",
    "a * 0.5",
    "a if a < b else b",
    "a if a + b == 0 else b",
    "a if a == number else b",
    "a if a == 200 else b",
    "exp(a)",
]


@pytest.mark.parametrize("text", SHARED)
def test_bits_are_the_same(text: str) -> None:
    formula = parse_source(text)
    assert ignores_sign(formula, SYMBOLS, ScalarType.ELEMENT)
    first, second = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    results = []
    for dtype in (np.uint8, np.int8):
        values = {"a": first.view(dtype), "b": second.view(dtype), "number": dtype(7)}
        results.append(to_numpy(formula)(values).astype(dtype).view(np.uint8))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("text", APART)
def test_formulas_that_read_signs_stay_apart(text: str) -> None:
    assert not ignores_sign(parse_source(text), SYMBOLS, ScalarType.ELEMENT)


def test_only_what_is_as_large_as_elements_is_shared() -> None:
    """An element that becomes an int64 is widened, by its sign; a truth is the same for all."""
    assert not ignores_sign(parse_source("a + b"), SYMBOLS, ScalarType.INDEX)
    assert ignores_sign(parse_source("index + (a != 0)"), SYMBOLS, ScalarType.INDEX)
    assert ignores_sign(parse_source("a == b and not a"), SYMBOLS, ScalarType.BOOL)
    assert not ignores_sign(parse_source("a < b"), SYMBOLS, ScalarType.BOOL)
