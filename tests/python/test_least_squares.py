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
@pytest.mark.parametrize("size", [(1, 1), (5, 3), (3, 5), (40, 40), (90, 30), (30, 90)])
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
