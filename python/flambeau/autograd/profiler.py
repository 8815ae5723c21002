"""The former place of flambeau.profiler."""

from __future__ import annotations

from flambeau import _lazy
from flambeau.profiler import record_function

__all__ = ["record_function"]

__getattr__ = _lazy.unavailable(
    __name__, "Flambeau has no profiler; Python's and perf see its functions"
)
