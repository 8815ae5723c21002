"""Functions of declarations/functions that NumPy and SciPy do not have under the same meaning."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

Array = Any


def exp2(x: Array) -> Array:
    """2**x; NumPy's own lacks complex numbers."""
    return np.exp(x * np.log(2.0)) if np.iscomplexobj(x) else np.exp2(x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), from the side that does not overflow."""
    if np.iscomplexobj(x):
        return 1 / (1 + np.exp(-x))
    x = np.asarray(x)
    x = x.astype(np.result_type(x.dtype, np.float16))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def logaddexp(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)), the larger exponential taken out."""
    if not np.iscomplexobj(a) and not np.iscomplexobj(b):
        return np.logaddexp(a, b)
    is_first = np.real(a) >= np.real(b)
    large: Array = np.where(is_first, a, b)
    small: Array = np.where(is_first, b, a)
    return large + np.log1p(np.exp(small - large))


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


def power(a: Array, b: Array) -> Array:
    """a**b; integers to a negative power as C++ divides them."""
    a, b = np.asarray(a), np.asarray(b)
    if np.issubdtype(a.dtype, np.integer) and np.issubdtype(b.dtype, np.integer):
        inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
        return np.where(b < 0, inverse, np.power(a, np.abs(b)))
    return np.power(a, b)


def floor_divide(a: Array, b: Array) -> Array:
    """floor(a / b), infinite or nan for a zero divisor."""
    if _integral(a, b):
        return np.floor_divide(a, b)
    return np.where(np.asarray(b) == 0, np.divide(a, b), np.floor_divide(a, b))


def binary_exponent(x: Array) -> Array:
    """The second result of frexp, of the first one's type."""
    return np.frexp(x)[1].astype(np.asarray(x).dtype)


def binary_fraction(x: Array) -> Array:
    """The first result of frexp."""
    return np.asarray(np.frexp(x)[0])


def remainder(a: Array, b: Array) -> Array:
    """Python's %."""
    return np.remainder(a, b)


def fmod(a: Array, b: Array) -> Array:
    """C's fmod."""
    return np.fmod(a, b)


def sign(x: Array) -> Array:
    """-1, 0 or 1, 0 for NaN, x / |x| for complex numbers; False and True stay."""
    if np.asarray(x).dtype == bool:
        return x
    if np.iscomplexobj(x):
        size = np.abs(x)
        return np.where(size == 0, 0, x / np.where(size == 0, 1, size))
    return np.where(np.isnan(x), 0, np.sign(x))


def signbit(x: Array) -> Array:
    """Whether x is negative; for floats, minus zero counts."""
    return np.asarray(x) < 0 if _integral(x) else np.signbit(x)


def word(x: Array) -> Array:
    """The 64 bits of the float64 that equals x, of the int64 that equals an integer."""
    return np.asarray(x, np.int64 if _integral(x) else np.float64).view(np.int64)


def angle(x: Array) -> Array:
    """The argument of a complex number; nan stays nan."""
    return np.where(np.isnan(x), np.nan, np.angle(x))


def polygamma(n: Array, x: Array) -> Array:
    """The n-th derivative of digamma."""
    special = importlib.import_module("scipy.special")
    return special.digamma(x) if np.all(np.asarray(n) == 0) else special.polygamma(n, x)


def exp_half_square(x: Array) -> Array:
    """Wider than the results, so that the square's rounding is not seen."""
    wide = np.asarray(x, np.longdouble)
    return np.exp(-wide * wide / 2).astype(np.result_type(x, np.float32))


def normal_hazard(x: Array) -> Array:
    """From the logarithm of the distribution function."""
    special = importlib.import_module("scipy.special")
    found = np.exp(-0.5 * x * x - 0.9189385332046727 - special.log_ndtr(x))
    return np.where(x == -np.inf, np.inf, found)


def zeta(s: Array, q: Array) -> Array:
    """The Hurwitz zeta function; SciPy's own loops over a large negative q."""
    special = importlib.import_module("scipy.special")
    return special.zeta(s, np.maximum(q, -1000.0))


def normal_quantile(q: Array, tail: Array) -> Array:
    """The inverse of the normal distribution function at q + 1/2, from the nearer end."""
    special = importlib.import_module("scipy.special")
    middle = special.erfinv(2 * np.asarray(q)) * np.sqrt(2.0)
    return np.where(np.abs(q) < 0.4, middle, -np.sign(q) * special.ndtri(tail))


def airy_ai(x: Array) -> Array:
    """The Airy function Ai, which SciPy does not know at infinity."""
    value = importlib.import_module("scipy.special").airy(x)[0]
    return np.where(np.isposinf(x), 0.0, value)


def incomplete_gamma(upper: Array, a: Array, x: Array) -> Array:
    """P(a, x), or Q(a, x)."""
    special = importlib.import_module("scipy.special")
    return np.where(np.asarray(upper) != 0, special.gammaincc(a, x), special.gammainc(a, x))


def gamma_slope(a: Array, log_x: Array) -> Array:
    """d log x / da at a fixed P(a, x), by differences of the smaller of P and 1 - P."""
    special = importlib.import_module("scipy.special")
    a, x = np.asarray(a, dtype=float), np.exp(np.asarray(log_x, dtype=float))
    step = 1e-3 * np.minimum(a, 1) + 1e-4 * np.sqrt(a)

    def moved(by: float) -> Array:
        at = a + by * step
        return np.where(x < a, special.gammainc(at, x), -special.gammaincc(at, x))

    by_a = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)
    return -by_a / np.exp(a * np.log(x) - x - special.gammaln(a))


def orthogonal_polynomial(kind: Array, x: Array, n: Array) -> Array:
    """A polynomial of degree n, by its recurrence."""
    x, n = np.broadcast_arrays(np.asarray(x, dtype=float), np.trunc(np.asarray(n, dtype=float)))
    kind = int(np.max(kind))
    first = (x, 2 * x, 2 * x - 1, 2 * x + 1, 2 * x, x, 1 - x, x)[kind]
    before, now = np.ones_like(x), first
    result = np.where(n < 0, 0.0, np.where(n == 0, before, now))
    for k in range(1, min(int(np.fmax.reduce(n, axis=None, initial=0)), 1000)):
        two_x = x if kind == 5 else 2 * x
        step = {
            4: two_x * now - 2 * k * before,
            5: two_x * now - k * before,
            6: ((2 * k + 1 - x) * now - k * before) / (k + 1),
            7: ((2 * k + 1) * x * now - k * before) / (k + 1),
        }
        before, now = now, step.get(kind, two_x * now - before)
        result = np.where(n == k + 1, now, result)
    return np.where(np.isnan(n), np.nan, result)


def _integral(*values: Array) -> bool:
    return all(np.asarray(v).dtype.kind in "biu" for v in values)
