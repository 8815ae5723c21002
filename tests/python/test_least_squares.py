"""Least squares without right-hand sides: what the matrix alone says is known all the same."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize("driver", ["gelsd", "gelss", "gelsy"])
def test_no_right_hand_sides(driver: str) -> None:
    matrix = np.random.default_rng(0).standard_normal((2, 4, 3))
    sides = flambeau.zeros(2, 4, 0, dtype=flambeau.float64)
    found = flambeau.linalg.lstsq(flambeau.from_numpy(matrix), sides, driver=driver)
    assert tuple(found.solution.shape) == (2, 3, 0)
    assert found.rank.tolist() == [3, 3]
    if driver != "gelsy":
        wanted = np.linalg.svd(matrix, compute_uv=False)
        np.testing.assert_allclose(found.singular_values.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "size",
    [(1, 1), (5, 3), (3, 5), (40, 40), (90, 30), (30, 90), (150, 150), (200, 100), (100, 200)],
)
def test_matrices_of_any_rank(size: tuple[int, int], dtype: str) -> None:
    """The least of all solutions, as by singular values."""
    draw, kind = np.random.default_rng(1), np.dtype(dtype)
    m, n = size

    def random(*shape: int) -> np.ndarray:
        parts = draw.standard_normal((2, *shape))
        return (parts[0] + 1j * parts[1] if kind.kind == "c" else parts[0]).astype(dtype)

    for rank in sorted({0, 1, min(m, n) // 2, min(m, n) - 1, min(m, n)}):
        matrix, sides = random(m, rank) @ random(rank, n), random(m, 2)
        found = flambeau.linalg.lstsq(
            flambeau.from_numpy(matrix), flambeau.from_numpy(sides), driver="gelsy"
        )
        cutoff = np.finfo(dtype).eps * max(m, n)
        wide = np.complex128 if kind.kind == "c" else np.float64
        wanted = np.linalg.lstsq(matrix.astype(wide), sides.astype(wide), rcond=cutoff)
        assert found.rank.item() == rank
        digits = 1e-2 if np.finfo(dtype).bits == 32 else 1e-8
        scale = max(1e-9, abs(wanted[0]).max())
        np.testing.assert_allclose(found.solution.numpy() / scale, wanted[0] / scale, atol=digits)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
@pytest.mark.parametrize("size", [(2, 90, 30), (30, 90), (100, 3), (1, 7), (60, 50)])
def test_singular_values_of_long_matrices(size: tuple[int, ...], driver: str, dtype: str) -> None:
    draw = np.random.default_rng(4)
    least, close = min(size[-2:]), 1e-4 if np.finfo(dtype).bits == 32 else 1e-11

    def random(*shape: int) -> np.ndarray:
        parts = draw.standard_normal((2, *shape))
        return (parts[0] + 1j * parts[1] if "complex" in dtype else parts[0]).astype(dtype)

    for rank in sorted({1, least // 2 + 1, least}):
        matrix = random(*size[:-1], rank) @ random(*size[:-2], rank, size[-1])
        for scale in (1.0, 1e-30):
            sides = random(*size[:-1], 2)
            given = [flambeau.from_numpy(x) for x in ((scale * matrix).astype(dtype), sides)]
            found = flambeau.linalg.lstsq(*given, rcond=1e-5, driver=driver)
            wanted = np.linalg.pinv(matrix, rcond=1e-5) @ sides
            np.testing.assert_array_equal(found.rank.numpy(), rank)
            np.testing.assert_allclose(found.solution.numpy() * scale, wanted, atol=close * 10)
            values = np.linalg.svd(matrix, compute_uv=False)
            np.testing.assert_allclose(
                found.singular_values.numpy() / scale, values, atol=close * values.max()
            )
            if size[-2] > size[-1]:
                left = np.abs(matrix @ wanted - sides) ** 2
                np.testing.assert_allclose(
                    found.residuals.numpy(), left.sum(-2), rtol=10 * close, atol=close
                )


def test_numbers_of_any_size() -> None:
    """What the exchange of columns leaves to LAPACK."""
    matrix = flambeau.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], dtype=flambeau.float64)
    sides = flambeau.tensor([[1.0], [2.0], [3.0]], dtype=flambeau.float64)
    for size in (1e-150, 1.0, 1e150):
        found = flambeau.linalg.lstsq(matrix * size, sides, driver="gelsy")
        assert found.rank.item() == 1
        np.testing.assert_allclose((found.solution * size).numpy(), [[0.2], [0.4]])


def with_values(size: tuple[int, int], values: np.ndarray, dtype: str) -> np.ndarray:
    """A matrix of these singular values."""
    draw = np.random.default_rng(2)
    turns = []
    for length in size:
        parts = draw.standard_normal((2, length, values.size))
        turns.append(np.linalg.qr(parts[0] + (1j * parts[1] if "complex" in dtype else 0))[0])
    return (turns[0] * values @ turns[1].conj().T).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [(60, 60), (120, 40), (40, 120), (300, 300)])
def test_the_limit_decides_on_the_rank(size: tuple[int, int], dtype: str) -> None:
    count = min(size)
    sides = np.random.default_rng(3).standard_normal((size[0], 2)).astype(dtype)
    for least, rank in ((1e-4, count), (1e-8, count // 2)):
        values = np.repeat([1.0, least], [count // 2, count - count // 2])
        matrix = with_values(size, values, dtype)
        found = flambeau.linalg.lstsq(
            flambeau.from_numpy(matrix), flambeau.from_numpy(sides), rcond=1e-6, driver="gelsy"
        )
        assert found.rank.item() == rank
        wanted = np.linalg.lstsq(matrix, sides, rcond=1e-6)[0]
        scale = abs(wanted).max()
        np.testing.assert_allclose(found.solution.numpy() / scale, wanted / scale, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [(30, 30), (130, 130), (200, 80), (80, 200)])
@pytest.mark.parametrize("kind", ["graded", "nearly equal", "zeros"])
def test_columns_of_which_few_digits_are_left(kind: str, size: tuple[int, int], dtype: str) -> None:
    """What reflections leave of them is much less than what they were, again and again."""
    m, n = size
    draw, count = np.random.default_rng(5), min(size) // 3
    step = 1e-2 if np.finfo(dtype).bits == 32 else 1e-5
    values = np.repeat([1.0, step, step**2 / 100], [count, count, min(size) - 2 * count])
    if kind == "zeros":
        values[2 * count :] = 0
    matrix = with_values(size, values, dtype)
    if kind == "nearly equal":  # of rank 2 but for little
        base = np.linalg.qr(draw.standard_normal((m, 2)))[0][:, np.arange(n) % 2]
        matrix = (base + step / 10 * matrix).astype(dtype)
    wide = matrix.astype(np.complex128 if "complex" in dtype else np.float64)
    singular = np.linalg.svd(wide, compute_uv=False)
    digits = np.maximum(singular, (m + n) * np.finfo(dtype).eps * singular[0])
    rank = int(np.flatnonzero(digits[:-1] > 10 * digits[1:])[-1]) + 1  # behind a gap
    limit = float(np.sqrt(digits[rank - 1] * digits[rank]) / singular[0])
    solution = draw.standard_normal((n, 2))
    sides = (wide @ solution).astype(dtype)
    found = flambeau.linalg.lstsq(
        flambeau.from_numpy(matrix), flambeau.from_numpy(sides), rcond=limit, driver="gelsy"
    )
    assert found.rank.item() == rank
    left = wide @ found.solution.numpy() - sides
    assert np.linalg.norm(left) < 10 * limit * singular[0] * np.linalg.norm(solution)


@pytest.mark.parametrize("size", [(60, 60), (120, 40), (40, 120)])
def test_a_driver_for_full_rank_asks_for_no_rank(size: tuple[int, int]) -> None:
    """In float32 these count as matrices of lower rank."""
    values = np.geomspace(1, 1e-9, min(size))
    matrix = with_values(size, values, "float64")
    wanted = np.random.default_rng(3).standard_normal((size[1], 2))
    if size[0] < size[1]:  # of all solutions the least one, which is a combination of the rows
        wanted = matrix.T @ np.random.default_rng(3).standard_normal((size[0], 2))
    sides = flambeau.from_numpy(matrix @ wanted)
    given = flambeau.from_numpy(matrix)
    found = flambeau.linalg.lstsq(given, sides, rcond=1e-6, driver="gels").solution.numpy()
    assert abs(found - wanted).max() < 1e-5 * abs(wanted).max()
    given[0] = 0
    given[:, 0] = 0
    with pytest.raises(flambeau.linalg.LinAlgError, match="full rank"):
        flambeau.linalg.lstsq(given, sides, driver="gels")
