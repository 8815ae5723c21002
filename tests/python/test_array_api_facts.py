"""What the Python array API standard, 2024.12, says of single functions: the special cases of its
elementwise functions, results of what is empty, order and ties, kinds of dtypes.

The consortium's own suite, array-api-tests, is no package: it cannot be installed beside these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import array_api as xp

inf, nan = math.inf, math.nan
quarter, half, pi = math.pi / 4, math.pi / 2, math.pi
tall = 3 * quarter

# (arguments, result) of each function, as its "Special cases" say; of zeros signs count.
ONE: dict[str, list[tuple[float, float]]] = {
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, half), (-inf, -half)],
    "atanh": [(nan, nan), (-1.5, nan), (1.5, nan), (-1.0, -inf), (1.0, inf), (-0.0, -0.0)],
    "ceil": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-0.5, -0.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (0.5, 0.0)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "reciprocal": [(nan, nan), (0.0, inf), (-0.0, -inf), (inf, 0.0), (-inf, -0.0)],
    "round": [
        (nan, nan),
        (inf, inf),
        (-0.0, -0.0),
        (0.5, 0.0),
        (1.5, 2.0),
        (-0.5, -0.0),
        (2.5, 2.0),
    ],
    "sign": [(nan, nan), (3.0, 1.0), (-3.0, -1.0), (0.0, 0.0)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-0.5, -0.0)],
    "abs": [(nan, nan), (-0.0, 0.0), (-inf, inf)],
    "square": [(nan, nan), (-inf, inf), (-0.0, 0.0)],
    "positive": [(-0.0, -0.0), (nan, nan)],
    "negative": [(0.0, -0.0), (inf, -inf)],
}
TWO: dict[str, list[tuple[float, float, float]]] = {
    "add": [(inf, -inf, nan), (inf, 1.0, inf), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (nan, 1, nan)],
    "subtract": [(inf, inf, nan), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)],
    "multiply": [(inf, 0.0, nan), (-inf, 2.0, -inf), (-0.0, 3.0, -0.0), (-0.0, -3.0, 0.0)],
    "divide": [
        *[(inf, inf, nan), (0.0, 0.0, nan), (0.0, -3.0, -0.0), (3.0, 0.0, inf), (3.0, -0.0, -inf)],
        *[(-3.0, -0.0, inf), (3.0, inf, 0.0), (3.0, -inf, -0.0), (-inf, -3.0, inf)],
    ],
    "atan2": [
        *[(nan, 1.0, nan), (1.0, nan, nan), (1.0, 0.0, half), (1.0, -0.0, half)],
        *[(0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, pi), (0.0, -1.0, pi)],
        *[(-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, -1.0, -pi)],
        *[(-1.0, 0.0, -half), (-1.0, -0.0, -half), (1.0, inf, 0.0), (1.0, -inf, pi)],
        *[(-1.0, inf, -0.0), (-1.0, -inf, -pi), (inf, 1.0, half), (-inf, 1.0, -half)],
        *[(inf, inf, quarter), (inf, -inf, tall), (-inf, inf, -quarter), (-inf, -inf, -tall)],
    ],
    "pow": [
        *[(2.0, nan, nan), (nan, 0.0, 1.0), (nan, -0.0, 1.0), (nan, 2.0, nan), (-2.0, inf, inf)],
        *[(2.0, -inf, 0.0), (-1.0, inf, 1.0), (1.0, -inf, 1.0), (0.5, inf, 0.0), (0.5, -inf, inf)],
        *[(1.0, nan, 1.0), (inf, 2.0, inf), (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf)],
        *[(-inf, 0.5, inf), (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (0.0, 2.0, 0.0)],
        *[(0.0, -2.0, inf), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, -3.0, -inf)],
        *[(-0.0, -2.0, inf), (-2.0, 0.5, nan)],
    ],
    "floor_divide": [
        *[(nan, 1.0, nan), (inf, inf, nan), (0.0, 0.0, nan), (0.0, -3.0, -0.0), (3.0, 0.0, inf)],
        *[(-3.0, 0.0, -inf), (3.0, inf, 0.0), (-7.0, 2.0, -4.0)],
    ],
    "remainder": [
        *[(nan, 1.0, nan), (inf, 2.0, nan), (3.0, 0.0, nan), (0.0, 3.0, 0.0), (-0.0, 3.0, 0.0)],
        *[
            (0.0, -3.0, -0.0),
            (3.0, inf, 3.0),
            (-3.0, -inf, -3.0),
            (-7.0, 2.0, 1.0),
            (7.0, -2.0, -1.0),
        ],
    ],
    "copysign": [(3.0, -0.0, -3.0), (-3.0, 0.0, 3.0), (0.0, -1.0, -0.0), (inf, -2.0, -inf)],
    "hypot": [
        (inf, nan, inf),
        (nan, -inf, inf),
        (nan, 1.0, nan),
        (0.0, -0.0, 0.0),
        (3.0, 4.0, 5.0),
    ],
    "logaddexp": [(nan, 1.0, nan), (inf, 1.0, inf), (1.0, inf, inf), (-inf, -inf, -inf)],
    "maximum": [(nan, 1.0, nan), (1.0, nan, nan), (-inf, 3.0, 3.0)],
    "minimum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 3.0, 3.0)],
    "nextafter": [(nan, 1.0, nan), (1.0, nan, nan), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
}
CASES = [
    (name, case[:-1], case[-1]) for table in (ONE, TWO) for name in table for case in table[name]
]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("name", "given", "wanted"), CASES, ids=str)
def test_special_cases(name: str, given: tuple[float, ...], wanted: float, kind: str) -> None:
    """In vectors of several lengths: loops of many elements, and their remainders."""
    dtype = getattr(xp, kind)
    for count in (1, 37):
        arrays = [xp.full((count,), value, dtype=dtype) for value in given]
        found = getattr(xp, name)(*arrays)
        assert found.dtype == dtype
        found = found.numpy()
        np.testing.assert_allclose(found, np.full(count, wanted), rtol=1e-6)
        if wanted == 0:
            assert (np.signbit(found) == np.signbit(wanted)).all(), found[0]


def test_parts_of_complex_numbers_stay_apart() -> None:
    """An infinite part is nothing to the other one, and the quotient by 0 has no sign of a zero;
    as NumPy has it."""
    for kind in ("complex64", "complex128"):
        values = [complex(inf, 2.0), complex(-inf, -1.0), complex(-3e38, 0.5)]
        z, w = xp.asarray(values * 7, dtype=getattr(xp, kind)), np.array(values * 7, kind)
        with np.errstate(all="ignore"):
            for ours, theirs in [
                *[(z + z, w + w), (z - 2.5, w - 2.5), (2.5 - z, 2.5 - w), (2.5 + z, 2.5 + w)],
                *[(z**1, w**1), (z / xp.asarray(-0.0), w / np.asarray(-0.0, w.real.dtype))],
                (flambeau.add(z, z, alpha=2).imag, 3 * w.imag),
            ]:
                assert ours.tolist() == pytest.approx(theirs.tolist(), nan_ok=True), kind


def test_what_is_empty() -> None:
    empty = xp.zeros((0, 3))
    assert xp.sum(empty, axis=0).tolist() == [0.0] * 3
    assert xp.prod(empty, axis=0).tolist() == [1.0] * 3
    assert np.isnan(xp.mean(empty, axis=0).numpy()).all()
    assert xp.all(empty).item() is True and xp.any(empty).item() is False
    assert xp.sum(empty, axis=1).shape == (0,)
    assert xp.count_nonzero(empty).item() == 0
    for reduce in (xp.max, xp.min, xp.argmax):
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            reduce(empty, axis=0)
    assert xp.cumulative_sum(xp.zeros(0), include_initial=True).tolist() == [0.0]
    assert xp.cumulative_prod(xp.zeros(0), include_initial=True).tolist() == [1.0]
    assert xp.concat([empty, xp.ones((2, 3))]).shape == (2, 3)
    assert xp.matmul(xp.zeros((2, 0)), xp.zeros((0, 3))).tolist() == [[0.0] * 3] * 2
    assert xp.unique_values(xp.zeros(0)).shape == (0,)


def test_ties_and_order() -> None:
    x = xp.asarray([3, 1, 3, 1])
    assert xp.argmax(x).item() == 0 and xp.argmin(x).item() == 1  # the first
    assert xp.argsort(x).tolist() == [1, 3, 0, 2]  # stable
    assert xp.argsort(x, descending=True).tolist() == [0, 2, 1, 3]
    assert [part.tolist() for part in xp.nonzero(xp.asarray([[0, 2], [3, 0]]))] == [[0, 1], [1, 0]]
    every = xp.unique_all(x)
    assert [every.values[i].item() for i in every.inverse_indices.tolist()] == x.tolist()
    assert [x[i].item() for i in every.indices.tolist()] == every.values.tolist()
    assert dict(zip(every.values.tolist(), every.counts.tolist(), strict=True)) == {1: 2, 3: 2}
    many = xp.unique_counts(xp.asarray([nan, 1.0, nan, -0.0, 0.0]))
    assert sum(many.counts.tolist()) == 5
    assert np.isnan(many.values.numpy()).sum() == 2  # each NaN is a value of its own
    assert xp.searchsorted(xp.asarray([1, 2, 2]), xp.asarray([2]), side="left").tolist() == [1]
    assert xp.searchsorted(xp.asarray([1, 2, 2]), xp.asarray([2]), side="right").tolist() == [3]


# The standard's tables of promotion, but for uint16 to uint64, which are promoted with nothing but
# themselves (arrays.md): signed, unsigned, floating, complex; of one kind the larger,
# of signed and unsigned integers the signed one that holds both.
SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
FLOATING, COMPLEX = ("float32", "float64"), ("complex64", "complex128")


def promoted() -> dict[tuple[str, str], str]:
    found = {("bool", "bool"): "bool"}
    found |= {(name, name): name for name in UNSIGNED}
    for kind in (SIGNED, FLOATING, COMPLEX):
        for (i, a), (j, b) in itertools.product(enumerate(kind), repeat=2):
            found[a, b] = kind[max(i, j)]
    for (i, a), (j, b) in itertools.product(enumerate(SIGNED), enumerate(UNSIGNED[:1])):
        found[a, b] = found[b, a] = SIGNED[max(i, j + 1)]
    for (i, a), (j, b) in itertools.product(enumerate(FLOATING), enumerate(COMPLEX)):
        found[a, b] = found[b, a] = COMPLEX[max(i, j)]
    return found


def test_promotion() -> None:
    for (a, b), wanted in promoted().items():
        first, second = getattr(xp, a), getattr(xp, b)
        assert xp.result_type(first, second) == getattr(xp, wanted), (a, b)
        if a not in ("bool", *UNSIGNED[1:]):
            total = xp.add(xp.ones(2, dtype=first), xp.ones((), dtype=second))
            assert total.dtype == getattr(xp, wanted), (a, b)
        both = xp.concat([xp.ones(2, dtype=first), xp.ones(1, dtype=second)])
        assert both.dtype == getattr(xp, wanted), (a, b)


def test_dtypes_of_sums() -> None:
    """Sums and products of small integers have the default integer's dtype; floating ones stay."""
    for reduce in (xp.sum, xp.prod, xp.cumulative_sum, xp.cumulative_prod):
        for name in (*SIGNED, "float32", "float64", "complex64"):
            wanted = xp.int64 if name in SIGNED else getattr(xp, name)
            assert reduce(xp.ones(3, dtype=getattr(xp, name))).dtype == wanted, (reduce, name)


REFUSED: dict[str, Callable[[], Any]] = {
    "broadcasting": lambda: xp.add(xp.ones(2), xp.ones(3)),
    "axis": lambda: xp.sum(xp.ones(2), axis=1),
    "squeeze": lambda: xp.squeeze(xp.ones((2, 1)), axis=0),
    "reshape": lambda: xp.reshape(xp.ones(6), (4,)),
    "matmul of scalars": lambda: xp.matmul(xp.ones(()), xp.ones(2)),
    "concat": lambda: xp.concat([xp.ones((2, 2)), xp.ones((2, 3))]),
    "index": lambda: xp.ones(2)[2],
    "expand_dims": lambda: xp.expand_dims(xp.ones(2), axis=3),
    "permute_dims": lambda: xp.permute_dims(xp.ones((2, 3)), (0, 0)),
    "truth": lambda: bool(xp.ones(2)),
    "float of a vector": lambda: float(xp.ones(2)),
    "cholesky": lambda: xp.linalg.cholesky(-xp.eye(2)),
    "solve": lambda: xp.linalg.solve(xp.zeros((2, 2)), xp.ones(2)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_is_an_error(call: Callable[[], Any]) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)):
        call()


def test_kinds_of_indices() -> None:
    x = xp.reshape(xp.arange(12), (3, 4))
    assert x[1, ...].tolist() == x[1].tolist() == [4, 5, 6, 7]
    assert x[:, -1].tolist() == [3, 7, 11]
    assert x[None, 0].shape == (1, 4) and x[..., None].shape == (3, 4, 1)
    assert x[::2, 1:3].tolist() == [[1, 2], [9, 10]]
    assert x[x > 9].tolist() == [10, 11]
    assert x[xp.asarray([2, 0]), xp.asarray([1, 1])].tolist() == [9, 1]
    y = xp.asarray(x, copy=True)
    y[y > 5] = 0
    assert y.tolist() == [[0, 1, 2, 3], [4, 5, 0, 0], [0] * 4]
    assert isinstance(x, flambeau.Tensor)


def test_numbers_beside_arrays_keep_their_digits() -> None:
    """A number is no float32 on its way to a float64 array."""
    for kind, number in (("float64", 0.1), ("complex128", 0.1 + 0.3j), ("float64", 16777217)):
        x = xp.ones(3, dtype=getattr(xp, kind))
        assert xp.add(number, x).tolist() == [1 + number] * 3
        assert xp.where(x == 0, x, number).tolist() == [number] * 3
        assert xp.equal(number * x, number).tolist() == [True] * 3
    assert xp.maximum(xp.zeros(1, dtype=xp.float64), 0.1).tolist() == [0.1]
    assert xp.add(0.1, xp.ones(1, dtype=xp.float32)).dtype == xp.float32
    assert xp.less(xp.asarray([3], dtype=xp.uint8), 2).tolist() == [False]


def test_limits_name_dtypes() -> None:
    for kind in (*FLOATING, *COMPLEX):
        part = np.finfo(kind).dtype.name
        assert xp.finfo(getattr(xp, kind)).dtype == getattr(xp, part)
        assert xp.finfo(xp.ones(1, dtype=getattr(xp, kind))).eps == np.finfo(kind).eps
    for kind in (*SIGNED, *UNSIGNED):
        assert xp.iinfo(getattr(xp, kind)).dtype == getattr(xp, kind)


def test_no_numbers_have_the_dtype_of_some() -> None:
    assert xp.arange(-1.0).dtype == xp.arange(1.0).dtype == xp.float32
    assert xp.arange(-1).dtype == xp.int64 and xp.arange(-1.0).shape == (0,)


@pytest.mark.parametrize("kind", [*SIGNED, "uint8"])
def test_integers_of_every_size_index(kind: str) -> None:
    x = xp.asarray([[5.0, 6.0, 7.0]])
    places = xp.asarray([2, 0], dtype=getattr(xp, kind))
    assert xp.take(x, places, axis=1).tolist() == [[7, 5]]
    assert xp.take_along_axis(x, places[None], axis=1).tolist() == [[7, 5]]
    assert xp.repeat(xp.asarray([3, 4]), places).tolist() == [3, 3]
    order = xp.asarray([1, 0], dtype=getattr(xp, kind))
    found = xp.searchsorted(xp.asarray([4, 3]), xp.asarray([4]), sorter=order)
    assert found.tolist() == [1]


def test_products_of_vectors_broadcast_other_dims() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(2, 1, 3)), draw.normal(size=(4, 3))
    x, y = xp.asarray(a), xp.asarray(b)
    np.testing.assert_allclose(xp.linalg.cross(x, y).numpy(), np.cross(a, b))
    np.testing.assert_allclose(
        xp.linalg.cross(x.mT, y[0, :, None], axis=-2).numpy(),
        np.cross(a.mT, b[0, :, None], axis=-2),
    )
    with pytest.raises(ValueError, match="vectors of 1 and 3 elements, expected 3 each"):
        xp.linalg.cross(x[..., :1], y)
    np.testing.assert_allclose(xp.vecdot(x, y).numpy(), np.vecdot(a, b))
    with pytest.raises(ValueError, match="vectors of 1 and 3 elements, expected as many"):
        xp.vecdot(x[..., :1], y)


def test_a_vector_is_solved_for_with_every_matrix() -> None:
    """Also where its shape is that of one number for each of the matrices."""
    for batch in ((1,), (2,), (2, 3)):
        a = np.random.default_rng(1).normal(size=(*batch, 2, 2)) + 3 * np.eye(2)
        for n in (1, 2):
            found = xp.linalg.solve(xp.asarray(a[..., :n, :n].copy()), xp.asarray(np.ones(n)))
            wanted = np.linalg.solve(a[..., :n, :n], np.ones(n))
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found.numpy(), wanted)
