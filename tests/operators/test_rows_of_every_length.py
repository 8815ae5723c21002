"""Kernels that take many short rows at once, at every length where they change their way."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
def test_sums_of_rows_of_every_length(dtype: str) -> None:
    generator = np.random.default_rng(0)
    for length in (*range(1, 80), 127, 128, 255, 256, 257, 1000):
        x = generator.integers(-8, 9, (37, length)).astype(dtype)
        result = flambeau.from_numpy(x).sum(1).numpy()
        np.testing.assert_array_equal(result, x.sum(1), err_msg=f"rows of {length}")
        apart = flambeau.from_numpy(x)[::3].sum(1).numpy()
        np.testing.assert_array_equal(apart, x[::3].sum(1), err_msg=f"every third of {length}")


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
def test_truth_of_rows_and_columns(dtype: str) -> None:
    for shape in ((5, 3), (30, 70), (3, 300), (70, 30, 5)):
        for place in range(0, int(np.prod(shape)), 7):
            x = np.zeros(shape, dtype)
            x.flat[place] = 1
            for dim in range(len(shape)):
                some = flambeau.from_numpy(x).any(dim).numpy()
                every = flambeau.from_numpy(x == 0).all(dim).numpy()
                np.testing.assert_array_equal(some, x.any(dim))
                np.testing.assert_array_equal(every, (x == 0).all(dim))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("length", [1, 2, 7, 16, 100, 1025, 40_000])
def test_copies_of_rows_of_one_element(dtype: str, length: int) -> None:
    x = np.arange(12).astype(dtype).reshape(3, 4)
    wide = flambeau.from_numpy(x)[:, ::2, None].expand(3, 2, length)
    np.testing.assert_array_equal(
        wide.contiguous().numpy(), np.broadcast_to(x[:, ::2, None], (3, 2, length))
    )


@pytest.mark.parametrize("lines", [1, 3, 16, 17, 50])
def test_transforms_of_short_lines(lines: int) -> None:
    generator = np.random.default_rng(0)
    for length in range(1, 18):
        x = generator.standard_normal((lines, length))
        z = x + 1j * generator.standard_normal((lines, length))
        for name, of, inverse in (("rfft", x, "irfft"), ("fft", z, "ifft"), ("fft", x, "ifft")):
            expected = getattr(np.fft, name)(of)
            for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-12)):
                given = of.astype({"f": dtype, "c": f"complex{2 * int(dtype[5:])}"}[of.dtype.kind])
                result = getattr(flambeau.fft, name)(flambeau.from_numpy(given))
                np.testing.assert_allclose(result.numpy(), expected, atol=tolerance)
                back = getattr(flambeau.fft, inverse)(result, length)
                np.testing.assert_allclose(back.numpy(), of, atol=tolerance)


def test_products_of_others_that_leave_the_range_of_numbers() -> None:
    """The products of halves of a row are 1e60 and 1e-60: beyond float32, and so is a block's."""
    for halves in ((1e2, 1e-2), (1e-2, 1e2)):
        x = np.repeat(np.float32(halves), 30)
        tensor = flambeau.tensor(x, requires_grad=True)
        tensor.prod().backward()
        assert tensor.grad is not None
        expected = np.prod(x.astype("float64")) / x.astype("float64")
        np.testing.assert_allclose(tensor.grad.numpy(), expected, rtol=1e-5)
    for zeros in ((), (5,), (5, 700)):
        y = np.random.default_rng(0).uniform(0.9, 1.1, 1000).astype("float32")
        y[list(zeros)] = 0
        tensor = flambeau.tensor(y, requires_grad=True)
        tensor.prod().backward()
        assert tensor.grad is not None
        wide = y.astype("float64")
        expected = np.array([np.prod(np.delete(wide, i)) for i in range(len(y))])
        np.testing.assert_allclose(tensor.grad.numpy(), expected, rtol=1e-4)


def test_permutations_do_not_depend_on_threads() -> None:
    threads = flambeau.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3):
            flambeau.set_num_threads(count)
            flambeau.manual_seed(5)
            found.append(flambeau.randperm(300_001).numpy())
    finally:
        flambeau.set_num_threads(threads)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_long_permutations_are_as_good_as_chance() -> None:
    """Where elements go: 16 parts of the places by 16 of the elements, chi squared of 225 degrees
    of freedom; and how many stay, on average one."""
    flambeau.manual_seed(1)
    n, parts, stayed = 1 << 17, 16, []
    for _ in range(10):
        order = flambeau.randperm(n).numpy()
        table = np.bincount(order // (n // parts) * parts + np.arange(n) // (n // parts))
        expected = n / parts**2
        assert 130 < ((table - expected) ** 2 / expected).sum() < 340
        stayed.append((order == np.arange(n)).sum())
    assert 2 <= sum(stayed) <= 25


@pytest.mark.parametrize("count", [5, 7])
@pytest.mark.parametrize("row", [3, 2**62])
@pytest.mark.parametrize("diagonal", [0, -(2**63), 2**63 - 1])
def test_places_of_a_triangle_are_as_many_as_it_has(row: int, count: int, diagonal: int) -> None:
    with pytest.raises(ValueError, match=f"triangle_places: {count} elements are not those of"):
        flambeau._C._internal.triangle_places(row, 4, diagonal, True, count)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "complex64", "int64"])
@pytest.mark.parametrize(
    "shape", [(192, 256), (2048, 70), (64, 4096), (33, 9000), (100, 3), (4097, 40), (50, 40, 30)]
)
def test_columns_in_pieces(shape: tuple[int, ...], dtype: str) -> None:
    """Rows are shared out to threads in pieces, of which nothing depends on their number."""
    x = np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)
    before = flambeau.get_num_threads()
    numbers = flambeau.from_numpy(np.random.default_rng(1).standard_normal(shape)).float()
    try:
        found = []
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            np.testing.assert_array_equal(flambeau.from_numpy(x).sum(0).numpy(), x.sum(0))
            results = (numbers.sum(0), numbers.amax(0), numbers.argmax(0), numbers.logsumexp(0))
            found.append([result.numpy() for result in results])
    finally:
        flambeau.set_num_threads(before)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(found[0][2], numbers.numpy().argmax(0))
    exact = np.log(np.exp(numbers.double().numpy()).sum(0))
    np.testing.assert_allclose(found[0][3], exact, rtol=1e-5)


def test_logarithms_of_sums_of_columns_that_are_not_finite() -> None:
    x = np.random.default_rng(2).standard_normal((9, 200)).astype("float32")
    x[:, 0], x[3, 1], x[4, 2], x[5, 3] = -np.inf, np.inf, np.nan, -np.inf
    x[:, 4] = 200
    found = flambeau.from_numpy(x).logsumexp(0).numpy()
    assert found[0] == -np.inf
    assert found[1] == np.inf
    assert np.isnan(found[2])
    exact = np.log(np.exp(x[:, 3:].astype("float64")).sum(0))
    np.testing.assert_allclose(found[3:], exact, rtol=1e-6)
