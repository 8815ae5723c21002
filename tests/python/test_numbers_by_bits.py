"""Functions of numbers that kernels compute from their bits, over every kind of number."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import flambeau

KINDS = {np.float32: np.uint32, np.float64: np.uint64}
CORNERS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]


def numbers(kind: Any, seed: int) -> Any:
    """Any bits, the corners, and the smallest and the largest numbers of both kinds."""
    random = np.random.default_rng(seed)
    bits = KINDS[kind]
    any_bits = random.integers(0, np.iinfo(bits).max, 4000, bits).view(kind)
    limits = np.finfo(kind)
    edges = [limits.tiny, limits.max, limits.smallest_subnormal, limits.tiny / 3]
    found = np.concatenate([any_bits, np.array([*CORNERS, *edges, *np.negative(edges)], kind)])
    return random.permutation(found)


def same(found: Any, wanted: Any) -> None:
    """To the sign of zero; NaN is NaN."""
    np.testing.assert_array_equal(found, wanted)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(wanted[is_number]))


@pytest.mark.parametrize("kind", KINDS)
def test_nextafter(kind: Any) -> None:
    a, b = numbers(kind, 0), numbers(kind, 1)
    pairs = [(a, b), (b, a), (a, a), (a, np.zeros_like(a)), (np.zeros_like(a), -a)]
    for x, y in pairs:
        found = flambeau.nextafter(flambeau.tensor(x), flambeau.tensor(y)).numpy()
        same(found, np.nextafter(x, y))


@pytest.mark.parametrize("kind", KINDS)
def test_frexp(kind: Any) -> None:
    x = numbers(kind, 2)
    mantissa, exponent = flambeau.frexp(flambeau.tensor(x))
    wanted, powers = np.frexp(x)
    same(mantissa.numpy(), wanted)
    is_finite = np.isfinite(x)
    np.testing.assert_array_equal(exponent.numpy()[is_finite], powers[is_finite])


@pytest.mark.parametrize("kind", KINDS)
def test_remainders(kind: Any) -> None:
    """Of numbers whose quotients have up to thousands of bits, and of some that nearly divide."""
    a, b = numbers(kind, 4), numbers(kind, 5)
    with np.errstate(all="ignore"):
        near = np.nextafter(b * np.trunc(numbers(kind, 6) % 1000), a)
        for x, y in [(a, b), (a, a), (near, b), (b, near), (-near, near[::-1].copy())]:
            rest = np.fmod(x, y)
            found = flambeau.fmod(flambeau.tensor(x), flambeau.tensor(y)).numpy()
            same(found, rest)
            found = flambeau.remainder(flambeau.tensor(x), flambeau.tensor(y)).numpy()
            same(found, np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_divisors_and_remainders_of_integers(kind: Any) -> None:
    """To the largest magnitudes, which wrap around."""
    random, limits = np.random.default_rng(7), np.iinfo(kind)
    any_bits = random.integers(limits.min, limits.max, 4000, kind, endpoint=True)
    edges = np.array([0, 1, limits.min, limits.max, limits.max - 1, limits.min // 2], kind)
    small = random.integers(0, 100, 2000).astype(kind)
    a = np.concatenate([np.repeat(edges, len(edges)), any_bits, small])
    b = np.concatenate([np.tile(edges, len(edges)), random.permutation(any_bits), small[::-1]])
    if limits.min < 0:
        a, b = np.concatenate([a, edges]), np.concatenate([b, np.full(len(edges), -1, kind)])
    x, y = flambeau.tensor(a), flambeau.tensor(b)

    def wrapped(numbers: list[int]) -> Any:
        words = [number % 2**limits.bits for number in numbers]
        return np.array(words, np.uint64).astype(kind)

    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    same(flambeau.gcd(x, y).numpy(), wrapped([math.gcd(*pair) for pair in pairs]))
    multiples = [math.lcm(*pair) for pair in pairs]
    found = flambeau.lcm(x, y).numpy()
    assert ((found == wrapped(multiples)) | (found == wrapped([-m for m in multiples]))).all()
    x, y = flambeau.tensor(a[b != 0]), flambeau.tensor(b[b != 0])
    pairs = [pair for pair in pairs if pair[1] != 0]
    same(flambeau.remainder(x, y).numpy(), wrapped([p % q for p, q in pairs]))
    rests = [abs(p) % abs(q) * (-1 if p < 0 else 1) for p, q in pairs]
    same(flambeau.fmod(x, y).numpy(), wrapped(rests))
    same(flambeau.floor_divide(x, y).numpy(), wrapped([p // q for p, q in pairs]))


def test_floor_divide_of_float32() -> None:
    """The exact quotient, rounded down to an integer, then to float32."""
    random = np.random.default_rng(3)
    small = (random.integers(-2000, 2000, 4000) / 8).astype(np.float32)
    tenths = np.float32(0.1) * random.integers(-50, 50, 4000).astype(np.float32)
    with np.errstate(all="ignore"):
        pairs = [(numbers(np.float32, 4), numbers(np.float32, 5)), (small, tenths)]
        pairs.append((np.float32(7) * tenths, tenths))
        for a, b in pairs:
            found = flambeau.floor_divide(flambeau.tensor(a), flambeau.tensor(b)).numpy()
            for x, y, z in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
                if math.isfinite(x) and math.isfinite(y) and y != 0:
                    whole = math.floor(Fraction(x) / Fraction(y))
                    assert z == np.float32(whole) or abs(whole) > 2**28, (x, y, z)


def test_floor_divide_at_the_corners() -> None:
    """As NumPy has it: an infinity has no rest, and below 0 an infinite divisor gives -1."""
    grid = np.array([[a, b] for a in CORNERS for b in CORNERS], np.float32)
    found = flambeau.floor_divide(*map(flambeau.tensor, np.ascontiguousarray(grid.T))).numpy()
    with np.errstate(all="ignore"):
        same(found, np.floor_divide(grid[:, 0], grid[:, 1]))
