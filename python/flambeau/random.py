"""Random number state: seeding, and running a block on a state of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import flambeau
from flambeau._C import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


@contextlib.contextmanager
def fork_rng(
    devices: object = None, enabled: bool = True, device_type: str = "cpu"
) -> Iterator[None]:
    """Runs a block whose random numbers leave the default generator as it was.

    Args:
        devices, device_type: accepted as PyTorch has them; one generator serves every device.
        enabled: False: do nothing.

    Example:
        >>> state = flambeau.get_rng_state()
        >>> with flambeau.random.fork_rng():
        ...     _ = flambeau.rand(100)
        >>> bool((flambeau.get_rng_state() == state).all())
        True
    """
    if not enabled:
        yield
        return
    state = flambeau.get_rng_state()
    try:
        yield
    finally:
        flambeau.set_rng_state(state)
