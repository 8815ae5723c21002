"""Values for two libraries: the same NumPy arrays, named by a short text."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any

import numpy as np

Draw = random.Random

# bfloat16 is made of float32.
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
FLOATS = ("float16", "bfloat16", "float32", "float64")
SPECIAL = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5)


def values(shape: Sequence[int], kind: str, key: int) -> Any:
    """An array of eighths, which every float holds: f(loat), p(ositive), u(nit), s(pecial among
    them), d(istinct), i:LOW:HIGH, b(ool), c(omplex).
    """
    draw = np.random.default_rng(key)
    if kind.startswith("i"):
        low, high = map(int, kind.split(":")[1:])
        return draw.integers(low, high, shape)
    if kind == "b":
        return draw.random(shape) < 0.5
    if kind == "c":
        return (draw.integers(-24, 25, shape) + 1j * draw.integers(-24, 25, shape)) / 8
    if kind == "d":
        return np.reshape(draw.permutation(int(np.prod(shape))) - np.prod(shape) // 2, shape) / 8
    low, high = {"f": (-24, 25), "p": (3, 25), "u": (0, 9), "s": (-24, 25)}[kind]
    found = np.asarray(draw.integers(low, high, shape) / 8)
    if kind == "s" and found.size:
        places = draw.random(shape) < 0.4
        found[places] = draw.choice(SPECIAL, int(places.sum()))
    return found


def namespace(library: Any) -> dict[str, Any]:
    """What texts may use: `lib`, and t(shape, kind, key, dtype), a tensor of these values."""

    def tensor(shape: Sequence[int], kind: str, key: int, dtype: str | None = None) -> Any:
        array = np.array(values(shape, kind, key))
        name = dtype or {"b": "bool", "i": "int64", "c": "complex64"}.get(kind[0], "float32")
        return library.from_numpy(array).to(getattr(library, name))

    return {
        "lib": library,
        "t": tensor,
        "nan": nan,
        "inf": inf,
        "slice": slice,
        "operator": operator,
    }


import operator  # noqa: E402 - a name that texts use

# Shapes and layouts ------------------------------------------------------------------------------

SHAPES = (
    (), (1,), (2,), (3,), (5,), (0,), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1), (0, 3), (2, 0),
    (2, 3, 4), (2, 1, 3), (1, 2, 1), (4, 3, 2), (2, 2, 2, 2), (1, 3, 4, 5), (2, 3, 1, 2), (17,),
    (5, 33), (130,),
)  # fmt: skip


def text_of(shape: Sequence[int], kind: str, key: int, dtype: str | None = None) -> str:
    sizes = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    return f"t({sizes}, {kind!r}, {key}{f', {dtype!r}' if dtype else ''})"


def laid_out(draw: Draw, shape: Sequence[int], make: Callable[[Sequence[int]], str]) -> str:
    """A tensor of that shape with other strides."""
    rank = len(shape)
    way = draw.randrange(6)
    if way == 0 and rank >= 2:
        swapped = (*shape[:-2], shape[-1], shape[-2])
        return f"{make(swapped)}.mT"
    if way == 1 and rank >= 1:
        return f"{make((*shape[:-1], shape[-1] * 2))}[..., ::2]"
    if way == 2 and rank >= 1:
        return f"{make((shape[0] + 1, *shape[1:]))}[1:]"
    if way == 3 and rank >= 1 and shape[0] > 0:
        return f"{make((1, *shape[1:]))}.expand({', '.join(map(str, shape))})"
    if way == 4 and rank >= 2:
        return f"{make((shape[-1], *shape[:-1]))}.movedim(0, -1)"
    if way == 5 and rank >= 1:
        return f"{make((shape[-1] + 2, *shape[:-1]))}[1:-1].movedim(0, -1)"
    return make(shape)


def broadcast_of(draw: Draw, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that broadcasts with this one."""
    sizes = [size if draw.random() < 0.6 else 1 for size in shape]
    return tuple(sizes[draw.randint(0, len(sizes)) :] if draw.random() < 0.3 else sizes)
