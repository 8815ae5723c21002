"""Which dim of a tensor is the outermost in memory, which the next."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import flambeau
from flambeau._C import Tensor
from flambeau._values import brief

# By what they are known; () is from the first dim to the last.
_USUAL: list[tuple[tuple[int, ...], Any]] = [
    ((), flambeau.contiguous_format),
    ((0, 2, 3, 1), flambeau.channels_last),
    ((0, 2, 3, 4, 1), flambeau.channels_last_3d),
]


def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dims from the outermost in memory to the innermost; those of equal strides in order.

    Args:
        ambiguity_check: True: an error where another order would describe the same memory. A list
            of memory formats: the same, but dims of size 1 may be anywhere in a tensor that has
            exactly one of the formats.

    Raises:
        RuntimeError: the order is not the only one.
        TypeError: ambiguity_check is something else.

    Example:
        >>> flambeau.ones(2, 3).t().dim_order()
        (1, 0)
    """
    if not isinstance(ambiguity_check, bool):
        _check_formats(ambiguity_check)
    strides = self.stride()
    movable = 1 in self.shape or any(a == b for a, b in pairwise(strides))
    if ambiguity_check is not False and movable:
        formats = [] if ambiguity_check is True else ambiguity_check
        fitting = sum(self.is_contiguous(memory_format=kind) for kind in formats)
        _check_unique(self, fitting == 1)
    order, unique = _order(self)
    _check_unique(self, unique or not ambiguity_check)
    return order


def _order(x: Tensor) -> tuple[tuple[int, ...], bool]:
    """The dims by their strides, and whether no others would do. A dim of stride 0, whose elements
    lie on each other, stays where it is.
    """
    usual = [
        (order or tuple(range(x.ndim)))
        for order, kind in _USUAL
        if x.ndim == (len(order) or x.ndim) and x.is_contiguous(memory_format=kind)
    ]
    if len(usual) == 1:
        return usual[0], True
    found: list[int] = []  # the innermost first
    unique = True
    for dim in reversed(range(x.ndim)):
        place = len(found)
        found.append(dim)
        for before in reversed(range(place)):
            inner, outer = _key(x, found[before]), _key(x, dim)
            overlaps = 0 in (inner[0], outer[0])
            unique = unique and not overlaps and inner[0] != outer[0]
            if not overlaps and inner > outer:
                found[before], found[place] = dim, found[before]
                place = before
            elif not overlaps and inner[0] < outer[0]:
                break
    return tuple(reversed(found)), unique


def _key(x: Tensor, dim: int) -> tuple[int, int]:
    return x.stride(dim), x.size(dim)


def _check_formats(given: Any) -> None:
    kinds = given if isinstance(given, list) else [given]
    if not isinstance(given, list) or not all(
        isinstance(kind, flambeau.memory_format) for kind in kinds
    ):
        raise TypeError(
            "Tensor.dim_order(): ambiguity_check must be a bool or a list of memory formats, got "
            f"{brief(given)}"
        )


def _check_unique(x: Tensor, unique: bool) -> None:
    if not unique:
        raise RuntimeError(
            f"Tensor.dim_order(): a tensor of shape {tuple(x.shape)} and strides {x.stride()} has "
            "no unique order of dims"
        )
