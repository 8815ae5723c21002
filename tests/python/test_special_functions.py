"""Special functions: their accuracy against SciPy's in double, and identities that they fulfil."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special as sp

import flambeau
from flambeau import special

Array = Any
WIDE = np.concatenate([np.linspace(-60, 60, 4001), np.geomspace(1e-6, 500, 500)])
POSITIVE = np.concatenate([np.linspace(0.001, 60, 4001), np.geomspace(1e-6, 500, 500)])
INSIDE = np.concatenate([np.linspace(1e-4, 1 - 1e-4, 4001), np.geomspace(1e-30, 1e-4, 300)])
FUNCTIONS: list[tuple[str, Callable[[Array], Array], Array]] = [
    ("bessel_j0", sp.j0, WIDE),
    ("bessel_j1", sp.j1, WIDE),
    ("bessel_y0", sp.y0, POSITIVE),
    ("bessel_y1", sp.y1, POSITIVE),
    ("i0", sp.i0, WIDE[np.abs(WIDE) < 80]),
    ("i0e", sp.i0e, WIDE),
    ("i1", sp.i1, WIDE[np.abs(WIDE) < 80]),
    ("i1e", sp.i1e, WIDE),
    ("modified_bessel_k0", sp.k0, POSITIVE[POSITIVE < 80]),
    ("modified_bessel_k1", sp.k1, POSITIVE[POSITIVE < 80]),
    ("scaled_modified_bessel_k0", sp.k0e, POSITIVE),
    ("scaled_modified_bessel_k1", sp.k1e, POSITIVE),
    ("airy_ai", lambda x: sp.airy(x)[0], np.linspace(-10, 10, 4001)),
    ("erfcx", sp.erfcx, np.linspace(-9, 100, 4001)),
    ("ndtri", sp.ndtri, INSIDE),
    ("log_ndtr", sp.log_ndtr, np.linspace(-100, 5, 4001)),
    ("ndtr", sp.ndtr, np.linspace(-12, 8, 4001)),
    ("logit", sp.logit, INSIDE),
    ("expit", sp.expit, np.linspace(-60, 60, 4001)),
    ("erf", sp.erf, np.linspace(-6, 6, 4001)),
    ("erfc", sp.erfc, np.linspace(-5, 9, 4001)),
    ("erfinv", sp.erfinv, np.linspace(-1 + 1e-5, 1 - 1e-5, 4001)),
    ("gammaln", sp.gammaln, POSITIVE),
    ("digamma", sp.digamma, POSITIVE),
    ("entr", sp.entr, POSITIVE),
    ("expm1", sp.expm1, WIDE[WIDE < 80]),
    ("log1p", sp.log1p, WIDE[WIDE > -1]),
    ("spherical_bessel_j0", lambda x: np.sinc(x / np.pi), np.linspace(-60, 60, 4001)),
]


# Of products whose factors were rounded before.
LARGER = {"erf": 5, "entr": 5}


def ulps(found: Array, wanted: Array, dtype: type) -> Array:
    """How many steps of the dtype lie between two results."""
    return np.abs(found.astype(float) - wanted) / np.spacing(np.abs(wanted).astype(dtype))


@pytest.mark.parametrize(("name", "function", "points"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_float32_is_within_four_units(
    name: str, function: Callable[[Array], Array], points: Array
) -> None:
    x = points.astype(np.float32)
    wanted = function(x.astype(float))
    found = getattr(special, name)(flambeau.tensor(x)).numpy()
    assert found.dtype == np.float32
    # Where SciPy's own error counts, next to zeros of a function, so does it in single steps.
    slack = 1e-15 / np.spacing(np.abs(wanted).astype(np.float32))
    assert (ulps(found, wanted, np.float32) <= LARGER.get(name, 4) + slack).all()


@pytest.mark.parametrize(("name", "function", "points"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_float64_agrees_with_scipy(
    name: str, function: Callable[[Array], Array], points: Array
) -> None:
    wanted = function(points)
    found = getattr(special, name)(flambeau.tensor(points)).numpy()
    # Errors of arguments of sines count at large points, those of exponents by their size.
    np.testing.assert_allclose(found, wanted, rtol=5e-14, atol=2e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "points"), [f[::2] for f in FUNCTIONS], ids=[f[0] for f in FUNCTIONS]
)
def test_neighbours_do_not_matter(name: str, points: Array, dtype: type) -> None:
    """Elements are computed side by side, and each by the branches that one of them takes."""
    x = np.resize(points, 4096).astype(dtype)
    order = np.random.default_rng(0).permutation(len(x))
    function = getattr(special, name)
    sorted_ones = function(flambeau.tensor(x)).numpy()
    mixed = function(flambeau.tensor(x[order])).numpy()
    np.testing.assert_array_equal(mixed, sorted_ones[order])


@pytest.mark.parametrize("name", ["i1e", "ndtri"])
def test_float32_of_corners(name: str) -> None:
    x = np.array([0, -0.0, 1, 8, 8.000001, 1e-30, 1e30, np.inf, -np.inf, np.nan, -1], np.float32)
    x = np.concatenate([x, np.float32([0.925, 0.075, 1e-45, 0.99999994])])
    wanted = getattr(sp, name)(x.astype(float)).astype(np.float32)
    found = getattr(special, name)(flambeau.tensor(x)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=5e-7, atol=2e-45)


def test_wronskians() -> None:
    x = flambeau.tensor(POSITIVE[POSITIVE > 1e-3])
    cross = special.bessel_j1(x) * special.bessel_y0(x) - special.bessel_j0(x) * special.bessel_y1(
        x
    )
    np.testing.assert_allclose((cross * x * np.pi / 2).numpy(), 1, rtol=2e-14)
    mixed = special.i0e(x) * special.scaled_modified_bessel_k1(x)
    mixed = mixed + special.i1e(x) * special.scaled_modified_bessel_k0(x)
    np.testing.assert_allclose((mixed * x).numpy(), 1, rtol=4e-15)


def test_distribution_functions_are_inverse() -> None:
    x = flambeau.linspace(-37, 5, 2000, dtype=flambeau.float64)
    np.testing.assert_allclose(special.ndtri(special.ndtr(x)).numpy(), x.numpy(), atol=2e-10)


@pytest.mark.parametrize("scale", [0.01, 1, 50, 250, 1e4])
def test_incomplete_gamma(scale: float) -> None:
    generator = np.random.default_rng(0)
    a = scale * generator.uniform(0.1, 2, 500)
    x = np.abs(a + np.sqrt(a) * generator.normal(0, 4, 500))
    for found, wanted in (
        (flambeau.igamma(flambeau.tensor(a), flambeau.tensor(x)), sp.gammainc(a, x)),
        (flambeau.igammac(flambeau.tensor(a), flambeau.tensor(x)), sp.gammaincc(a, x)),
    ):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


# P(a, x) where its power series is long, by mpmath with 40 digits.
LOWER_GAMMA = [
    (118.0992319977855, 80.59164322660872, 5.38190378276783e-05),
    (27.631861535884624, 18.672846423499344, 0.030847935057790016),
    (13.7099670390696, 12.822124462398206, 0.4386098042524962),
    (60.46078076048935, 51.19380429929045, 0.112121130135316),
    (21.45846546954608, 20.783577619159523, 0.47009922913441243),
    (158.16030363340977, 135.1347854176611, 0.028631969224669162),
    (0.3602120694127469, 1.2431168333160194, 0.924861891514696),
]


def test_lower_incomplete_gamma_in_units_of_the_last_place() -> None:
    a, x, wanted = np.array(LOWER_GAMMA).T
    found = flambeau.igamma(flambeau.tensor(a), flambeau.tensor(x)).numpy()
    assert (ulps(found, wanted, np.float64) <= 8).all()


# Where the distribution function is nearly 1, by mpmath with 40 digits.
LOG_NDTR = [
    (-0.6, -1.293703811614028),
    (0.75, -0.25699426683836524),
    (3.3, -0.00048354102950672),
    (7.7, -6.803311540773985e-15),
    (12.3, -4.5287069561587846e-35),
    (18.9, -5.7026263842317e-80),
]


def test_log_ndtr_in_units_of_the_last_place() -> None:
    """SciPy's is off by 400 units at 20: the error of x * x counts as often as its size."""
    x, wanted = np.array(LOG_NDTR).T
    found = special.log_ndtr(flambeau.tensor(x)).numpy()
    assert (ulps(found, wanted, np.float64) <= 8).all()


def test_incomplete_gamma_of_large_numbers() -> None:
    """Where SciPy's is off by a half. By Ramanujan, P(a, a) = 1/2 + 1 / (3 sqrt(2 pi a)) + ..."""
    a = flambeau.tensor([1e6, 1e8, 1e12], dtype=flambeau.float64)
    wanted = 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a.numpy()))
    np.testing.assert_allclose(flambeau.igamma(a, a).numpy(), wanted, rtol=1e-9)
    # 5 deviations below: a normal distribution, with the first term of its correction.
    x = a - 5 * a.sqrt()
    ratio = flambeau.igamma(a, x).numpy() / sp.ndtr(-5.0)
    assert (np.abs(ratio - 1) < 60 / np.sqrt(a.numpy())).all()


def test_zeta() -> None:
    q = np.concatenate([np.geomspace(1e-3, 1e6, 300), -np.arange(0.25, 30)])
    for s in (2.0, 3.0, 11.0, 50.0):
        found = special.zeta(flambeau.tensor(np.full(len(q), s)), flambeau.tensor(q)).numpy()
        np.testing.assert_allclose(found, sp.zeta(s, q), rtol=1e-13)
    # A sum over the terms at negative numbers would take days here.
    far = special.zeta(flambeau.tensor(2.0, dtype=flambeau.float64), -1e14 - 0.5)
    np.testing.assert_allclose(far.item(), np.pi**2, rtol=1e-12)


def test_polynomials_of_high_degrees() -> None:
    x = flambeau.linspace(-1, 1, 101, dtype=flambeau.float64)
    angle = np.arccos(x.numpy())
    found = special.chebyshev_polynomial_t(x, 1000).numpy()
    np.testing.assert_allclose(found, np.cos(1000 * angle), atol=1e-12)
    assert special.hermite_polynomial_h(x, 600).isnan().all()
    assert special.legendre_polynomial_p(x, 1e300).isnan().all()
    assert special.laguerre_polynomial_l(x, -1).tolist() == [0.0] * 101


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("chebyshev_polynomial_t", sp.eval_chebyt),
        ("chebyshev_polynomial_u", sp.eval_chebyu),
        ("hermite_polynomial_h", sp.eval_hermite),
        ("hermite_polynomial_he", sp.eval_hermitenorm),
        ("laguerre_polynomial_l", sp.eval_laguerre),
        ("legendre_polynomial_p", sp.eval_legendre),
    ],
)
def test_polynomials_of_many_degrees_at_once(
    name: str, wanted: Callable[..., Array], dtype: type
) -> None:
    """Lanes of a vector take different numbers of steps, none, or are taken out of it."""
    rng = np.random.default_rng(1)
    degrees = rng.integers(0, 30, 213)
    x = rng.uniform(-1.5, 1.5, 213).astype(dtype)
    found = getattr(special, name)(flambeau.tensor(x), flambeau.tensor(degrees)).numpy()
    exact = wanted(degrees, x.astype(np.float64))
    bound = 1e-5 if dtype is np.float32 else 1e-10
    np.testing.assert_allclose(found, exact, rtol=bound, atol=bound * np.abs(exact).mean())
    strange = degrees.astype(dtype)
    strange[::5], strange[1::7], strange[2::11] = 2.9, -3, np.nan
    ours = getattr(special, name)
    found = ours(flambeau.tensor(x), flambeau.tensor(strange)).numpy()
    alone = [
        ours(flambeau.tensor(a), flambeau.tensor(n)).item() for a, n in zip(x, strange, strict=True)
    ]
    np.testing.assert_allclose(found, alone, rtol=1e-6 if dtype is np.float32 else 1e-14)
    large = ours(flambeau.full((40,), 1e30, dtype=flambeau.float64), 40)
    assert (large.abs() == np.inf).all()
