"""What the text of a call may use: `from fuzz_prelude import *` and paste the line."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from math import inf, nan
from typing import Any

import numpy as np

import flambeau

__all__ = [
    "copy", "cyclic", "deep", "flambeau", "gc", "inf", "io", "nan", "np", "pickle", "weakref",
]  # fmt: skip


def cyclic() -> list[Any]:
    """A list that holds itself."""
    items: list[Any] = []
    items.append(items)
    return items


def deep(depth: int) -> list[Any]:
    """A list in a list in a list."""
    items: list[Any] = []
    for _ in range(depth):
        items = [items]
    return items
