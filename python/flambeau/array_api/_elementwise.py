"""Elementwise functions whose meaning differs from those that are declared under their name."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.array_api._adapted import beside, is_number, same_dtype


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Every bit the other way."""
    return flambeau.bitwise_not(x)


def equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether two elements are equal, elementwise."""
    return flambeau.eq(*same_dtype(x1, x2))


def sign(x: Tensor, /) -> Tensor:
    """The sign of every number; of a complex one the number of length 1 in its direction; of NaN
    itself."""
    if x.is_complex():
        return flambeau.sgn(x)
    signs = flambeau.sign(x)
    return flambeau.where(flambeau.isnan(x), x, signs) if x.is_floating_point() else signs


def round(x: Tensor, /) -> Tensor:
    """The nearest whole number, the even one of two; of a complex number for each of its parts."""
    if x.is_complex():
        return flambeau.complex(flambeau.round(x.real), flambeau.round(x.imag))
    return flambeau.round(x)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Every number, or the bound that it is beyond; the dtype is that of `x`."""
    if min is None and max is None:
        return x.clone()
    bounds = [
        beside(bound, x) if is_number(bound) else bound for bound in (min, max) if bound is not None
    ]
    shape = flambeau.broadcast_shapes(x.shape, *(bound.shape for bound in bounds))
    return flambeau.clamp(x.expand(shape), min, max).to(x.dtype)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """The first number where a condition is true, the second elsewhere."""
    return flambeau.where(condition, *same_dtype(x1, x2))


def remainder(x1: Any, x2: Any, /) -> Tensor:
    """What division leaves, with the sign of the second number, zeros too."""
    x1, x2 = same_dtype(x1, x2)
    left = flambeau.remainder(x1, x2)
    if not left.is_floating_point():
        return left
    return flambeau.where(left == 0, flambeau.copysign(left, x2), left)
