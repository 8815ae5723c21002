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
    """Seeds the generator, which serves every device.

    Args:
        seed: as of `flambeau.manual_seed`.

    Example:
        >>> flambeau.cuda.manual_seed(3)
        >>> flambeau.initial_seed()  # a device draws what the CPU would
        3
    """
    flambeau.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds the generator from the system's random numbers.

    Example:
        >>> flambeau.cuda.seed()
        >>> flambeau.cuda.initial_seed() == flambeau.initial_seed()
        True
    """
    flambeau.seed()


seed_all = seed


def initial_seed() -> int:
    """What the generator was seeded with.

    Example:
        >>> flambeau.cuda.manual_seed(7)
        >>> flambeau.cuda.initial_seed()
        7
    """
    return flambeau.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the generator.

    Args:
        device: accepted: one generator serves all.

    Example:
        >>> flambeau.equal(flambeau.cuda.get_rng_state(), flambeau.get_rng_state())
        True
    """
    return flambeau.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Sets the state of the generator.

    Args:
        new_state: from `get_rng_state`.
        device: accepted: one generator serves all.

    Example:
        >>> state = flambeau.cuda.get_rng_state()
        >>> first = flambeau.rand(2)
        >>> flambeau.cuda.set_rng_state(state)
        >>> flambeau.equal(flambeau.rand(2), first)
        True
    """
    flambeau.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The state of the generator, once for each device.

    Example:
        >>> len(flambeau.cuda.get_rng_state_all()) == flambeau.cuda.device_count()
        True
    """
    return [flambeau.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the state of the generator to the last of these.

    Args:
        new_states: from `get_rng_state_all`.

    Example:
        >>> flambeau.cuda.set_rng_state_all(flambeau.cuda.get_rng_state_all())
    """
    for state in new_states:
        flambeau.set_rng_state(state)
