"""What the number types can hold: finfo and iinfo."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau._absent_dtypes import AbsentDType
from flambeau._values import brief


class finfo:
    """Limits of a floating dtype (of a complex one: of its parts).

    Attributes: bits, eps (step above 1), max, min (the most negative number), tiny and
    smallest_normal, resolution (decimal), dtype (its name).

    Args:
        type: a floating or complex dtype; None: the default dtype.

    Raises:
        TypeError: for another dtype.

    Example:
        >>> info = flambeau.finfo(flambeau.float32)
        >>> info.bits, info.max, info.eps
        (32, 3.4028234663852886e+38, 1.1920928955078125e-07)
    """

    dtype: str

    def __init__(self, type: Any = None) -> None:
        dtype = flambeau.get_default_dtype() if type is None else type
        if isinstance(dtype, AbsentDType) and dtype.limits is not None:
            self.bits, self.dtype, self.resolution = 8, dtype.name, 1.0
            self.max, self.eps, self.tiny = dtype.limits
            self.min, self.smallest_normal = -self.max, self.tiny
            return
        if not isinstance(dtype, flambeau.dtype):
            raise TypeError(f"finfo: expected a dtype, got {brief(dtype)}")
        real = dtype.to_real() if dtype.is_complex else dtype
        if not real.is_floating_point:
            raise TypeError(f"finfo: expected a floating dtype, got {dtype}; use iinfo")
        self.bits = real.itemsize * 8
        significant = real._significant_bits
        # IEEE 754-2019, 3.6: the sign takes a bit, the leading one of the significand none.
        exponent = 2 ** (self.bits - significant - 1) - 1
        self.eps = math.ldexp(1.0, 1 - significant)
        self.max = math.ldexp(2.0 - self.eps, exponent)
        self.min = -self.max
        self.tiny = math.ldexp(1.0, 1 - exponent)
        self.smallest_normal = self.tiny
        self.resolution = float(f"1e-{math.floor((significant - 1) * math.log10(2))}")
        self.dtype = real.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))


class iinfo:
    """Limits of an integer dtype.

    Attributes: bits, max, min, dtype (its name).

    Args:
        type: an integer dtype.

    Raises:
        TypeError: for another dtype.

    Example:
        >>> info = flambeau.iinfo(flambeau.int8)
        >>> info.min, info.max
        (-128, 127)
    """

    def __init__(self, type: Any) -> None:
        is_dtype = isinstance(type, flambeau.dtype)
        if not is_dtype or type.is_floating_point or type.is_complex or type is flambeau.bool:
            raise TypeError(f"iinfo: expected an integer dtype, got {brief(type)}")
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -self.max - 1 if type.is_signed else 0
        self.dtype: str = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))
