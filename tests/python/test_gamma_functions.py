"""Gamma-like functions in float64: within a few steps of exact values, which closed forms give.

They are computed here with sixty digits: sums of fractions, and
logarithms and exponentials of `decimal`.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext, localcontext

import numpy as np
import pytest
from scipy import special as sp

import flambeau

getcontext().prec = 60
EULER = Decimal("0.57721566490153286060651209008240243104215933593992359880576723")
ZERO = Decimal("1.46163214496836234126265954232572132846819620400644")  # of digamma


def steps(found: float, wanted: Decimal) -> float:
    """How many steps of float64 a result is away."""
    return float(abs(Decimal(found) - wanted) / Decimal(math.ulp(float(wanted))))


def upper(a: int, x: float) -> Decimal:
    """Q(a, x) = e^-x (1 + x + x^2 / 2! + ... + x^(a - 1) / (a - 1)!)."""
    term = total = Decimal(1)
    for k in range(1, a):
        term = term * Decimal(x) / k
        total += term
    return total * (-Decimal(x)).exp()


@pytest.mark.parametrize("a", [1, 2, 3, 7, 15, 29, 30, 31, 64, 120, 199])
def test_incomplete_gamma_functions_of_integers(a: int) -> None:
    points = np.unique(np.concatenate([a * np.geomspace(0.05, 4, 60), np.linspace(0.1, 3, 30)]))
    x = flambeau.tensor(points)
    above = flambeau.igammac(flambeau.tensor(float(a)), x).tolist()
    below = flambeau.igamma(flambeau.tensor(float(a)), x).tolist()
    with localcontext() as context:
        context.prec = 700  # the lower one is as small as 1e-570, and is the rest to 1
        for point, q, p in zip(points.tolist(), above, below, strict=True):
            exact = upper(a, point)
            assert steps(q, exact) <= 9, (a, point, q)
            assert steps(p, 1 - exact) <= 9, (a, point, p)


def test_the_upper_incomplete_gamma_function_of_one_half() -> None:
    """Q(1/2, x) = erfc(sqrt(x)), Q(3/2, x) = Q(1/2, x) + 2 sqrt(x / pi) e^-x."""
    x = np.linspace(0.05, 20, 500)
    half = flambeau.igammac(flambeau.tensor(0.5), flambeau.tensor(x)).numpy()
    more = flambeau.igammac(flambeau.tensor(1.5), flambeau.tensor(x)).numpy()
    wanted = np.array([math.erfc(math.sqrt(v)) for v in x])
    # The root is rounded, and erfc falls as fast as 2 x of it.
    assert np.all(abs(half - wanted) <= (6 + 2 * x) * np.spacing(wanted))
    wanted = wanted + 2 * np.sqrt(x / np.pi) * np.exp(-x)
    assert np.all(abs(more - wanted) <= (8 + 2 * x) * np.spacing(wanted))


def test_far_from_the_middle_nothing_underflows() -> None:
    for a, x in ((29, 720.0), (29, 760.0), (190, 900.0)):
        found = flambeau.igammac(
            flambeau.tensor(float(a), dtype=flambeau.float64),
            flambeau.tensor(x, dtype=flambeau.float64),
        ).item()
        assert steps(found, upper(a, x)) <= 8


def test_digamma_of_integers_and_halves() -> None:
    """-gamma + 1 + 1/2 + ... + 1 / (n - 1), and -gamma - 2 log 2 + 2 + 2/3 + ... + 2 / (2n - 1)."""
    whole, half = -EULER, -EULER - 2 * Decimal(2).ln()
    for n in range(1, 40):
        for x, wanted in ((float(n), whole), (n - 0.5, half)):
            found = flambeau.digamma(flambeau.tensor(x, dtype=flambeau.float64)).item()
            assert steps(found, wanted) <= 8, x
        whole += 1 / Decimal(n)
        half += 2 / Decimal(2 * n - 1)


def test_digamma_near_its_zero() -> None:
    """There it is the distance from the zero times the slope, and SciPy is exact to a step."""
    at = float(ZERO)
    slope = float(sp.polygamma(1, at))
    found = flambeau.digamma(flambeau.tensor(at, dtype=flambeau.float64)).item()
    assert found == pytest.approx(float(Decimal(at) - ZERO) * slope, rel=1e-12)
    x = np.concatenate([np.linspace(1, 2, 2001), at + np.geomspace(1e-12, 0.1, 100)])
    wanted = sp.digamma(x)
    assert np.all(
        abs(flambeau.digamma(flambeau.tensor(x)).numpy() - wanted) <= 8 * np.spacing(abs(wanted))
    )
    narrow = flambeau.digamma(flambeau.tensor(x, dtype=flambeau.float32)).numpy()
    wanted = sp.digamma(x.astype(np.float32).astype(np.float64))
    assert np.all(abs(narrow - wanted) <= np.spacing(abs(wanted).astype(np.float32)))


def test_digamma_of_small_and_negative_numbers() -> None:
    x = np.concatenate([np.geomspace(1e-300, 1, 300), -np.geomspace(1e-300, 0.45, 300)])
    wanted = sp.digamma(x)
    found = flambeau.digamma(flambeau.tensor(x)).numpy()
    assert np.all(abs(found - wanted) <= 8 * np.spacing(abs(wanted)))


def test_incomplete_gamma_functions_of_float32() -> None:
    """Fewer digits are computed than of float64, and enough: halves of a step may go either way."""
    generator = np.random.default_rng(0)
    a = np.exp(generator.uniform(-8, 8, 40_000)).astype(np.float32)
    near = a * np.exp(generator.uniform(-1, 1, a.shape))
    x = np.where(generator.random(a.shape) < 0.5, near, np.exp(generator.uniform(-8, 8, a.shape)))
    x = x.astype(np.float32)
    for function in (flambeau.igamma, flambeau.igammac):
        wide = function(flambeau.tensor(a).double(), flambeau.tensor(x).double()).numpy()
        found = function(flambeau.tensor(a), flambeau.tensor(x)).numpy()
        usual = wide > 1e-37
        error = abs(found - wide) / np.spacing(wide.astype(np.float32))
        assert np.all(error[usual] <= 0.51)


def test_trigamma_of_all_kinds_of_numbers() -> None:
    x = np.concatenate([np.geomspace(1e-150, 1e15, 600), -np.geomspace(1e-9, 0.45, 300)])
    wanted = sp.polygamma(1, np.where(x > 0, x, 1))
    reflected = (np.pi / np.sin(np.pi * x[x < 0])) ** 2 - sp.polygamma(1, 1 - x[x < 0])
    wanted[x < 0] = reflected
    found = flambeau.polygamma(1, flambeau.tensor(x)).numpy()
    assert np.all(abs(found - wanted) <= 10 * np.spacing(abs(wanted)))
    narrow = flambeau.polygamma(1, flambeau.tensor(x[x > 1e-15]).float()).numpy()
    wanted = sp.polygamma(1, x[x > 1e-15].astype(np.float32).astype(np.float64))
    assert np.all(abs(narrow - wanted) <= np.spacing(wanted.astype(np.float32)))
    ends = flambeau.polygamma(1, flambeau.tensor([0.0, -1.0, -7.0, -np.inf, np.inf, np.nan]))
    assert str(ends.tolist()) == "[inf, inf, inf, inf, 0.0, nan]"


def test_the_logarithm_of_gamma_at_the_edges() -> None:
    """Beside a usual number: gamma(5/2) is 3/4 sqrt(pi)."""
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, -1e15, -1e308, 1e306, 1e308]
    points = np.resize(np.array([*edges, 2.5]), 60)
    wanted = np.resize(np.array([np.inf] * 4 + [np.nan] + [np.inf] * 6 + [0.28468287047291916]), 60)
    wanted[points == 1e306] = (1e306 - 0.5) * (math.log(1e306) - 1)  # up to 1e-300 of itself
    found = flambeau.lgamma(flambeau.tensor(points)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_the_logarithm_of_gamma_of_negative_and_of_tiny_numbers() -> None:
    """gamma(-n - 1/2) = sqrt(pi) (-2)^(n + 1) / (1 3 5 ... (2 n + 1)); of tiny ones it is 1 / x."""
    half = np.arange(40)
    odd = [math.prod(range(1, 2 * n + 2, 2)) for n in half.tolist()]
    wanted = [
        (Decimal("3.1415926535897932384626433832795028842").ln() / 2
         + (n + 1) * Decimal(2).ln() - Decimal(product).ln())
        for n, product in zip(half.tolist(), odd, strict=True)
    ]  # fmt: skip
    tiny = [5e-324, -5e-324, 1e-310, -1e-310, 1e-30, -1e-30, 1e-18, -1e-18]
    points = np.concatenate([-half - 0.5, tiny])
    found = flambeau.lgamma(flambeau.tensor(points)).tolist()
    for point, value in zip(points.tolist(), found, strict=True):
        if point < -0.1:
            assert steps(value, wanted[int(-point)]) <= 8, point
        else:
            assert steps(value, -abs(Decimal(point)).ln()) <= 2, point
