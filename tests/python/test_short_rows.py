"""Operands whose rows are short, or one row that repeats, against NumPy's: every length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

LENGTHS = [*range(1, 36), 63, 64, 65, 127, 128, 129, 255, 256, 257]
DTYPES = ["uint8", "float16", "float32", "int64", "complex128"]


def numbers(dtype: str, *shape: int) -> Any:
    generator = np.random.default_rng(0)
    if dtype == "complex128":
        return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    return generator.integers(0, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_every_length(length: int, dtype: str) -> None:
    """More elements than a chunk and than a thread takes."""
    rows = 40_000 // length
    wide = numbers(dtype, rows, length + 3)
    row, column = numbers(dtype, length), numbers(dtype, rows, 1)
    part, x = wide[:, 2 : 2 + length], flambeau.from_numpy(wide)[:, 2 : 2 + length]
    whole = flambeau.from_numpy(part.copy())
    for given in (x, whole):
        for other in (row, column, row[None], column[::-1].copy()):
            found = given + flambeau.from_numpy(other)
            np.testing.assert_array_equal(found.numpy(), part + other, strict=True)
    np.testing.assert_array_equal(x.contiguous().numpy(), part)
    np.testing.assert_array_equal((x + x).numpy(), part + part)
    target = flambeau.zeros(rows, length + 5, dtype=x.dtype)
    target[:, 1 : 1 + length] = x
    np.testing.assert_array_equal(target[:, 1 : 1 + length].numpy(), part)
    assert not target[:, 0].any() and not target[:, 1 + length :].any()
    target[:, 1 : 1 + length] += flambeau.from_numpy(row)
    np.testing.assert_array_equal(target[:, 1 : 1 + length].numpy(), part + row)
    assert not target[:, 0].any() and not target[:, 1 + length :].any()


@pytest.mark.parametrize("length", [3, 16, 33, 200])
def test_a_row_repeats_in_several_dims(length: int) -> None:
    x, row = numbers("float32", 7, 11, 13, length), numbers("float32", length)
    middle = numbers("float32", 11, 1, length)
    found = flambeau.from_numpy(x) * flambeau.from_numpy(row) - flambeau.from_numpy(middle)
    np.testing.assert_array_equal(found.numpy(), x * row - middle)
    both = flambeau.from_numpy(row) * flambeau.from_numpy(numbers("float32", 900, 1))
    np.testing.assert_array_equal(both.numpy(), row * numbers("float32", 900, 1))
    # Functions see whole vectors: results do not depend on where an element stands.
    angles = flambeau.from_numpy(row).expand(500, length)
    found = flambeau.hypot(angles, flambeau.from_numpy(x[:4, :5]).reshape(-1, length)[:1]).numpy()
    assert (found == found[:1]).all()


@pytest.mark.parametrize("channels", [5, 64, 130, 255])
def test_a_row_repeats_in_each_image(channels: int) -> None:
    """Of channels-last images: chunks end where images do."""
    x, row = numbers("float32", 4, 53, 41, channels), numbers("float32", 4, 1, 1, channels)
    images, scales = (flambeau.from_numpy(a.copy()).permute(0, 3, 1, 2) for a in (x, row))
    np.testing.assert_array_equal((images * scales).permute(0, 2, 3, 1).numpy(), x * row)
    images *= scales
    np.testing.assert_array_equal(images.permute(0, 2, 3, 1).numpy(), x * row)
