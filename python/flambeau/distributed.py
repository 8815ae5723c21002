"""Training on several processes: not there yet, and `is_available()` says so."""

from __future__ import annotations

from flambeau import _lazy

__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]


def is_available() -> bool:
    """False: there are no process groups."""
    return False


def is_initialized() -> bool:
    """False: there are no process groups."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no process groups yet")
