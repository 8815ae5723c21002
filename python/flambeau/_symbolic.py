"""Numbers that PyTorch's tracer leaves open, and functions that take them beside others: here all
numbers are known.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from numbers import Number
from typing import Any

from flambeau._C import Tensor


class SymInt:
    """What nothing is an instance of: an int that is not known yet."""


class SymFloat:
    """The same of a float."""


class SymBool:
    """The same of a bool."""


def sym_int(a: Any) -> int:
    """The number without its fraction.

    Example:
        >>> flambeau.sym_int(-2.5)
        -2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """The number as a float.

    Example:
        >>> flambeau.sym_float(2)
        2.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether it is false.

    Example:
        >>> flambeau.sym_not(True)
        False
    """
    return not a


def _chosen(name: str, choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    for value in (a, b):
        if not isinstance(value, Number | Tensor):
            raise TypeError(f"{name}(): expected numbers, got {type(value).__name__}")
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_max(a: Any, b: Any) -> Any:
    """The larger number: a float if one of them is.

    Example:
        >>> flambeau.sym_max(3, 2.0)
        3.0
    """
    return _chosen("sym_max", builtins.max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number: a float if one of them is.

    Example:
        >>> flambeau.sym_min(3, 2)
        2
    """
    return _chosen("sym_min", builtins.min, a, b)


def sym_sum(args: Any) -> Any:
    """The sum of numbers.

    Example:
        >>> flambeau.sym_sum([1, 2, 3])
        6
    """
    return builtins.sum(args[i] for i in range(len(args)))


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`.

    Example:
        >>> flambeau.sym_ite(2 > 1, "yes", "no")
        'yes'
    """
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of a number.

    Example:
        >>> flambeau.sym_sqrt(9)
        3.0
    """
    return math.sqrt(a)
