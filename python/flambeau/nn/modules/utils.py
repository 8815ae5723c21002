"""Helpers of layers that other people's layers import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a value n times, and makes a tuple of several."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each value n times, the last one first: strides or paddings as F.pad wants them."""
    return tuple(value for value in reversed(values) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix such as "module." off the names of a state_dict, in place, in order.

    Args:
        state_dict: of a model, with `_metadata` where that was kept.
        prefix: names without it stay.
    """
    for key in list(state_dict):
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key:
                metadata[(key + ".").removeprefix(prefix).removesuffix(".")] = metadata.pop(key)
