"""Random states under the names of CUDA: one generator serves every device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.cuda._library import device_count

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all"]
__all__ += ["seed", "seed_all", "set_rng_state", "set_rng_state_all"]


def manual_seed(seed: int) -> None:
    """Seeds the generator, which serves every device."""
    flambeau.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds the generator from the system's random numbers."""
    flambeau.seed()


seed_all = seed


def initial_seed() -> int:
    """What the generator was seeded with."""
    return flambeau.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the generator."""
    return flambeau.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Sets the state of the generator."""
    flambeau.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The state of the generator, once for each device."""
    return [flambeau.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the state of the generator to the last of these."""
    for state in new_states:
        flambeau.set_rng_state(state)
