"""What kernels do with lists that are long enough for threads, blocks and digits of keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb

LONG = 300_007  # more than a chunk of each kernel, and no multiple of any
DTYPES = ["int64", "int32", "uint8", "float32", "float64"]


def numbers(dtype: str, distinct: int = 2**62) -> Any:
    """Integers of both signs, or numbers with zeros of both signs."""
    generator = np.random.default_rng(3)
    if dtype.startswith("float"):
        found = generator.standard_normal(LONG).astype(dtype)
        found[::7] = 0.0
        found[3::7] = -0.0
        return found
    info = np.iinfo(dtype)
    low, high = max(int(info.min), -distinct // 2), min(int(info.max), distinct // 2)
    return generator.integers(low, high, LONG).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distinct", [10, 2**62])
def test_unique(dtype: str, distinct: int) -> None:
    given = numbers(dtype, distinct)
    expected = np.unique(given)
    found = fb.unique(fb.tensor(given))
    np.testing.assert_array_equal(found.numpy(), expected)
    with_inverse = fb.unique(fb.tensor(given), return_inverse=True)
    np.testing.assert_array_equal(with_inverse[0].numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype: str, descending: bool) -> None:
    given = numbers(dtype)
    values, indices = fb.sort(fb.tensor(given), stable=True, descending=descending)
    # Elements, to the bit: zeros keep their signs.
    assert values.numpy().tobytes() == given[indices.numpy()].tobytes()
    expected = np.sort(given)
    np.testing.assert_array_equal(values.numpy(), expected[::-1] if descending else expected)


WIDE = ["one", "small", "spread", "clusters", "sentinel", "limits"]  # integers
WIDE += ["normal", "close", "scales", "tiny"]


def wide_numbers(name: str, count: int) -> Any:
    """Numbers of 64 bits, of which the higher halves tell much, little or nothing."""
    generator = np.random.default_rng(5)
    small = generator.integers(0, 1000, count)
    limits = np.iinfo(np.int64)
    given: dict[str, Any] = {
        "one": np.full(count, -3),
        "small": small - 500,
        "spread": generator.integers(limits.min, limits.max, count),
        "clusters": (small % 3 - 1) * 2**61 + generator.integers(-(2**33), 2**33, count),
        "sentinel": np.where(small < 300, limits.max, small),
        "limits": generator.choice([limits.min, -1, 0, 1, limits.max], count),
        "normal": generator.standard_normal(count),
        "close": 1 + small * 2.0**-52,
        "scales": generator.standard_normal(count) * 10.0 ** generator.integers(-300, 300, count),
        "tiny": generator.choice([-0.0, 0.0, 5e-324, -5e-324, np.nan, np.inf], count),
    }
    return given[name]


@pytest.mark.parametrize("count", [1, 2, 17, 300, 5000, LONG])
@pytest.mark.parametrize("name", WIDE)
def test_order_of_wide_numbers(name: str, count: int) -> None:
    given = wide_numbers(name, count)
    order = np.argsort(given, kind="stable")
    values, indices = fb.sort(fb.tensor(given), stable=True)
    np.testing.assert_array_equal(indices.numpy(), order)
    assert values.numpy().tobytes() == given[order].tobytes()
    # Of integers, turned over; equal ones keep their order.
    if given.dtype == np.int64:
        falling = fb.argsort(fb.tensor(given), descending=True, stable=True)
        np.testing.assert_array_equal(falling.numpy(), np.argsort(~given, kind="stable"))
    found = fb.unique(fb.tensor(given), return_inverse=True, return_counts=True)
    # Asked for where they stand first, NumPy sorts stably.
    distinct, _, *others = np.unique(given, True, True, True, equal_nan=False)
    for ours, theirs in zip(found, [distinct, *others], strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_special_values_in_order(dtype: str) -> None:
    given = fb.tensor([np.nan, -0.0, np.inf, 0.0, -1.5, -np.inf, np.nan, 2.0]).to(
        getattr(fb, dtype)
    )
    values, indices = fb.sort(given, stable=True)
    assert indices.tolist() == [5, 4, 1, 3, 7, 2, 0, 6]
    assert [str(value) for value in values.tolist()[:4]] == ["-inf", "-1.5", "-0.0", "0.0"]
    found = [str(value) for value in fb.unique(given).tolist()]
    assert found == ["-inf", "-1.5", "-0.0", "2.0", "inf", "nan", "nan"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distinct", [2, 2**62])
def test_runs(dtype: str, distinct: int) -> None:
    given = numbers(dtype, distinct)
    given[LONG // 2 - 9 : LONG // 2 + 9] = 1  # over the border of two threads' parts
    first = np.concatenate([[True], given[1:] != given[:-1]])
    starts = np.flatnonzero(first)
    x = fb.tensor(given)
    np.testing.assert_array_equal(fb.unique_consecutive(x).numpy(), given[starts])
    values, inverse, counts = fb.unique_consecutive(x, return_inverse=True, return_counts=True)
    # Of zeros of both signs the first.
    assert values.numpy().tobytes() == given[starts].tobytes()
    np.testing.assert_array_equal(inverse.numpy(), np.cumsum(first) - 1)
    np.testing.assert_array_equal(counts.numpy(), np.diff(starts, append=LONG))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [0, 1, 9, 1000, LONG])
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(dtype: str, length: int, right: bool) -> None:
    given = numbers(dtype, 100_000)
    bounds = np.sort(given[:length])
    found = fb.searchsorted(fb.tensor(bounds), fb.tensor(given), right=right)
    wanted = np.searchsorted(bounds, given, "right" if right else "left")
    np.testing.assert_array_equal(found.numpy(), wanted)
    rows = np.sort(given[:60].reshape(4, 15), 1)
    asked = given[-28:].reshape(4, 7)
    found = fb.searchsorted(fb.tensor(rows), fb.tensor(asked), right=right, out_int32=True)
    side = "right" if right else "left"
    wanted = np.stack([np.searchsorted(r, a, side) for r, a in zip(rows, asked, strict=True)])
    np.testing.assert_array_equal(found.numpy(), wanted.astype(np.int32), strict=True)


def test_searchsorted_puts_nan_behind_all() -> None:
    bounds = fb.tensor([-1.0, 2.0, np.inf, np.nan, np.nan])
    asked = fb.tensor([np.nan, np.inf, -np.inf])
    assert fb.searchsorted(bounds, asked).tolist() == [3, 2, 0]
    assert fb.searchsorted(bounds, asked, right=True).tolist() == [5, 3, 0]


@pytest.mark.parametrize("shape", [(LONG,), (7, 5000), (300, 11, 13)])
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(shape: tuple[int, ...], dim: int, name: str) -> None:
    given = np.random.default_rng(8).integers(-50, 50, shape).astype(np.float32)
    given.reshape(-1)[-3] = np.nan
    values, places = getattr(fb, name)(fb.tensor(given), dim)
    extreme = np.maximum if name == "cummax" else np.minimum
    wanted = extreme.accumulate(given, axis=dim)
    np.testing.assert_array_equal(values.numpy(), wanted)
    np.testing.assert_array_equal(np.take_along_axis(given, places.numpy(), dim), wanted)
    along = np.arange(given.shape[dim]).reshape(
        [-1 if d == dim % given.ndim else 1 for d in range(given.ndim)]
    )
    is_last = np.where((given == wanted) | (np.isnan(given) & np.isnan(wanted)), along, 0)
    np.testing.assert_array_equal(places.numpy(), np.maximum.accumulate(is_last, axis=dim))


@pytest.mark.parametrize("out", [(1, 1), (3, 4), (5, 2), (7, 9), (16, 20)])
def test_adaptive_maxima_of_equals_and_nan(out: tuple[int, int]) -> None:
    """Of equals the first in the order of rows, of NaN the last."""
    generator = np.random.default_rng(9)
    given = generator.integers(0, 3, (6, 7, 9)).astype(np.float64)
    given[generator.random(given.shape) < 0.05] = np.nan
    found, places = fb.nn.functional.adaptive_max_pool2d(fb.tensor(given), out, return_indices=True)
    for plane, i, j in np.ndindex(found.shape):
        rows = range(i * 7 // out[0], -(-(i + 1) * 7 // out[0]))
        columns = range(j * 9 // out[1], -(-(j + 1) * 9 // out[1]))
        order = [(y, x) for y in rows for x in columns]
        elements = [given[plane, y, x] for y, x in order]
        nan = [k for k, element in enumerate(elements) if np.isnan(element)]
        best = nan[-1] if nan else int(np.argmax(elements))
        assert places[plane, i, j].item() == order[best][0] * 9 + order[best][1]
        np.testing.assert_equal(found[plane, i, j].item(), elements[best])


def test_drawing_all_categories_and_a_few() -> None:
    weights = fb.arange(5000.0)
    everything = fb.multinomial(weights + 1, 5000).numpy()
    np.testing.assert_array_equal(np.sort(everything), np.arange(5000))
    drawn = fb.multinomial(weights.expand(400, 5000), 10).numpy()
    assert all(len(set(row)) == 10 for row in drawn.tolist())
    # A category is drawn first with its share of the weights: the mean is two thirds of 5000.
    assert abs(drawn[:, 0].mean() - 10_000 / 3) < 5 * 1180 / 20
    with pytest.raises(RuntimeError, match="from 4999 categories of positive weight"):
        fb.multinomial(weights, 5000)


@pytest.mark.parametrize("size", [10, 5_000, 10_000_000])
def test_bincount(size: int) -> None:
    given = np.random.default_rng(4).integers(0, size, LONG)
    found = fb.bincount(fb.tensor(given), minlength=7)
    np.testing.assert_array_equal(found.numpy(), np.bincount(given, minlength=7))
    given[LONG - 2] = -3
    with pytest.raises(RuntimeError, match="expected integers from 0, got -3"):
        fb.bincount(fb.tensor(given))


@pytest.mark.parametrize("shape", [(LONG,), (LONG // 3, 3), (61, 1, 4919), (1, 2, 2, 80_000)])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_nonzero(shape: tuple[int, ...], share: float) -> None:
    given = np.random.default_rng(5).random(shape) < share
    found = fb.nonzero(fb.tensor(given))
    np.testing.assert_array_equal(found.numpy(), np.argwhere(given))
    complex_numbers = fb.tensor(given * 1j)
    np.testing.assert_array_equal(fb.nonzero(complex_numbers).numpy(), np.argwhere(given))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [1, 2, 7, 16, 17])
def test_small_systems(dtype: str, size: int) -> None:
    generator = np.random.default_rng(6)
    given: Any = generator.standard_normal((50, size, size)).astype(dtype)
    if dtype.startswith("complex"):
        given = given + (1j * generator.standard_normal(given.shape)).astype(dtype)
    given[:, 0, 0] = 0 if size > 1 else 1  # rows must be exchanged
    right = given[:, :, :1] * 2 + 1
    solution = fb.linalg.solve(fb.tensor(given), fb.tensor(right)).numpy()
    precision = 1e-3 if dtype in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(given @ solution, right, atol=precision * size, rtol=precision)
    permuted, lower, upper = (part.numpy() for part in fb.linalg.lu(fb.tensor(given)))
    np.testing.assert_allclose(permuted @ lower @ upper, given, atol=precision)
    assert abs(np.tril(lower, -1)).max(initial=0) <= 1.5  # pivots are the largest of their columns


def test_singular_small_matrix() -> None:
    given = fb.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [3.0, 6.0, 5.0]])
    factors, _, info = fb.linalg.lu_factor_ex(given)
    assert info.item() in (2, 3)
    assert factors[info.item() - 1, info.item() - 1] == 0
    with pytest.raises(fb.linalg.LinAlgError, match="singular"):
        fb.linalg.solve(given, fb.ones(3))


def test_distances() -> None:
    generator = np.random.default_rng(7)
    first, second = generator.standard_normal((60, 5)), generator.standard_normal((40, 5))
    second[3] = first[2]
    expected = np.sqrt(((first[:, None] - second[None]) ** 2).sum(-1))
    given = fb.tensor(first, requires_grad=True)
    found = fb.cdist(given, fb.tensor(second))
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-7)
    found.sum().backward()
    apart = np.where(expected[..., None] > 0, first[:, None] - second[None], 0)
    slope = (apart / np.where(expected > 0, expected, 1)[..., None]).sum(1)
    np.testing.assert_allclose(given.grad.numpy()[3:], slope[3:], atol=1e-9)
    assert np.isfinite(given.grad.numpy()).all()
    first[0, 0] = np.nan
    assert fb.cdist(fb.tensor(first), fb.tensor(second))[0].isnan().all()


@pytest.mark.parametrize("size", [2, 6, 32, 34, 62, 66, 258, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_transforms(size: int, dtype: str) -> None:
    given = np.random.default_rng(8).standard_normal((5, size, 3)).astype(dtype)
    precision = 1e-3 if dtype == "float32" else 1e-10
    for dim in (0, 1, 2):
        spectrum = np.fft.rfft(given, axis=dim)
        found = fb.fft.rfft(fb.tensor(given), dim=dim)
        np.testing.assert_allclose(found.numpy(), spectrum, atol=precision)
        back = fb.fft.irfft(found, n=given.shape[dim], dim=dim)
        np.testing.assert_allclose(back.numpy(), given, atol=precision)
    rows = np.ascontiguousarray(given.swapaxes(1, 2))
    found = fb.fft.rfft(fb.tensor(rows))
    np.testing.assert_allclose(found.numpy(), np.fft.rfft(rows), atol=precision)
    np.testing.assert_allclose(fb.fft.irfft(found, n=size).numpy(), rows, atol=precision)
