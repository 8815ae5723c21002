"""Values that are computed later: not available, and saying so."""

from __future__ import annotations

from flambeau import _lazy

__all__: list[str] = []
__getattr__ = _lazy.unavailable(
    __name__, "nothing here computes in the background; use concurrent.futures"
)
