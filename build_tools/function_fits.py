"""Coefficients of special functions: `python build_tools/function_fits.py`, with mpmath.

Rational functions that agree with a function in as many Chebyshev points of an interval as they
have coefficients, as declarations/functions/special.yaml says. A function's
degrees are the least with a relative error below 2**-27, of what is in double 2**-55; printed is
the error that is left.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

mp: Any = importlib.import_module("mpmath")  # of no other use here: nobody needs to have it
mp.mp.dps = 50
Number = Any
Function = Callable[[Number], Number]


def points(low: float, high: float, count: int) -> list[Number]:
    """The zeros of the Chebyshev polynomial of degree `count`, between two numbers."""
    middle, half = mp.mpf(high + low) / 2, mp.mpf(high - low) / 2
    return [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def fitted(
    f: Function, low: float, high: float, above: int, below: int
) -> tuple[list[Number], list[Number]]:
    """The coefficients above and below, constant terms first, of which the one below is 1."""
    xs = points(low, high, above + below + 1)
    values = [f(x) for x in xs]
    rows = [
        [x**k for k in range(above + 1)] + [-y * x**k for k in range(1, below + 1)]
        for x, y in zip(xs, values, strict=True)
    ]
    found = list(mp.lu_solve(mp.matrix(rows), mp.matrix(values)))
    return found[: above + 1], [mp.mpf(1), *found[above + 1 :]]


def error(f: Function, low: float, high: float, above: list[Number], below: list[Number]) -> Number:
    """The largest relative error."""
    xs = [low + (high - low) * mp.mpf(k) / 400 for k in range(401)]
    values = [(x, f(x)) for x in xs]
    return max(
        abs(mp.polyval(above[::-1], x) / mp.polyval(below[::-1], x) / y - 1) for x, y in values
    )


def text_of(strings: list[str], variable: str) -> str:
    """A polynomial in Horner's form, as formulas are written."""
    first, *others = strings
    if not others:
        return first
    rest = text_of(others, variable)
    return f"{first} + {variable} * {f'({rest})' if len(others) > 1 else rest}"


def show(
    name: str,
    variable: str,
    f: Function,
    low: float,
    high: float,
    rational: bool,
    digits: int = 9,
    bits: int = 27,
) -> None:
    """Prints the fit of the least degrees."""
    for total in range(2, 30):
        above, below = ((total + 1) // 2, total // 2) if rational else (total, 0)
        p, q = fitted(f, low, high, above, below)
        left = error(f, low, high, p, q)
        if left < mp.mpf(2) ** -bits:
            break
    written = [text_of([mp.nstr(c, digits) for c in part], variable) for part in (p, q)]
    print(f"{name}: relative error {mp.nstr(left, 2)}\n  ({written[0]}) / ({written[1]})")


def tail_quantile(r: Number) -> Number:
    """-ndtri(exp(-r * r))."""
    log_tail = -r * r
    x = -mp.sqrt(2) * r
    for _ in range(60):
        log_value = mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
        slope = mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)
        step = (log_value - log_tail) / slope
        x -= step
        if abs(step) < mp.mpf(10) ** -40:
            break
    return -x


def central_quantile(z: Number) -> Number:
    """ndtri(q + 1/2) / q, of z = q * q."""
    q = mp.sqrt(max(z, 0))
    if q < mp.mpf(10) ** -15:
        return mp.sqrt(2 * mp.pi)
    return mp.sqrt(2) * mp.erfinv(2 * q) / q


def quantile_of_log(w: Number) -> Number:
    """ndtri(q + 1/2) / q, of w = -log(1 - 4 * q * q)."""
    return central_quantile(-mp.expm1(-w) / 4)


def main() -> None:
    show(
        "i1e(a) / a",
        "a",
        lambda a: mp.exp(-a) * (mp.besseli(1, a) / a if a else mp.mpf(0.5)),
        0,
        8,
        True,
    )
    show(
        "i1e(a) * sqrt(a), t = 1 / a",
        "t",
        lambda t: (
            mp.exp(-1 / t) * mp.besseli(1, 1 / t) / mp.sqrt(t)
            if t > 1e-6
            else (1 - 3 * t / 8) / mp.sqrt(2 * mp.pi)
        ),
        0,
        0.125,
        False,
    )
    show(
        "quantile / q, s = q * q - 0.09",
        "s",
        lambda s: central_quantile(s + mp.mpf("0.09")),
        -0.09,
        0.180625 - 0.09,
        False,
    )
    show(
        "quantile of tails / r, s = 1 / r - 0.36",
        "s",
        lambda s: tail_quantile(1 / (s + mp.mpf("0.36"))) * (s + mp.mpf("0.36")),
        1 / 10.17 - 0.36,
        1 / 1.609 - 0.36,
        False,
    )
    show(
        "quantile / q in double, z = -log(4 * tail * (1 - tail)) - 2.25; even and odd powers apart",
        "z",
        lambda z: quantile_of_log(z + mp.mpf("2.25")),
        -2.25,
        2.25,
        False,
        digits=17,
        bits=55,
    )


if __name__ == "__main__":
    main()
