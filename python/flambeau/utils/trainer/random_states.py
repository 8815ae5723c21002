"""Random numbers of Flambeau, Python and NumPy: their states kept, put back, and kept apart."""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any

import flambeau


def derived_seed(*parts: object) -> int:
    """A seed below 2 ** 63 that depends on all parts, and on nothing else."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def seed_all(seed: int) -> None:
    """Seeds the default generator, Python's `random`, and NumPy's if it is imported."""
    flambeau.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def random_state() -> dict[str, Any]:
    """The states of all three, as tensors and plain data that a file can hold."""
    version, words, gauss = random.getstate()
    state: dict[str, Any] = {
        "flambeau": flambeau.get_rng_state(),
        "python": [version, flambeau.tensor(words), gauss],
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, key, *rest = numpy.random.get_state()
        state["numpy"] = [name, flambeau.tensor(key.tolist()), *rest]
    return state


def set_random_state(state: dict[str, Any]) -> None:
    """Puts back what `random_state` returned."""
    flambeau.set_rng_state(state["flambeau"])
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
    if "numpy" in state:
        import numpy

        name, key, *rest = state["numpy"]
        numpy.random.set_state((name, numpy.array(key.tolist(), numpy.uint32), *rest))


class OwnRandomNumbers:
    """A context with random numbers of its own, which go on where its last use ended.

    Args:
        seed: of the first use.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._inner: dict[str, Any] | None = None

    def __enter__(self) -> None:
        self._outer = random_state()
        if self._inner is None:
            seed_all(self._seed)
        else:
            set_random_state(self._inner)

    def __exit__(self, *_: object) -> None:
        self._inner = random_state()
        set_random_state(self._outer)
