"""Training on several processes: not there yet, and `is_available()` says so."""

from __future__ import annotations

from flambeau import _lazy

__all__ = ["is_available", "is_backend_available", "is_gloo_available", "is_initialized"]
__all__ += ["is_mpi_available", "is_nccl_available", "is_torchelastic_launched"]
__all__ += ["is_ucc_available", "is_xccl_available"]


def is_available() -> bool:
    """False: there are no process groups."""
    return False


def is_initialized() -> bool:
    """False: there are no process groups."""
    return False


def is_backend_available(backend: str) -> bool:
    """False: there are no process groups, whatever would carry their messages."""
    return False


def is_gloo_available() -> bool:
    """False."""
    return False


def is_mpi_available() -> bool:
    """False."""
    return False


def is_nccl_available() -> bool:
    """False."""
    return False


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no process groups yet")
