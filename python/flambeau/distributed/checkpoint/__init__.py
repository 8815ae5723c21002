"""Files that several processes write together: not available, and saying so."""

from __future__ import annotations

from flambeau import _lazy

__all__: list[str] = []

__getattr__ = _lazy.unavailable(
    __name__, "models are whole in each process; flambeau.save in one of them writes all of it"
)
