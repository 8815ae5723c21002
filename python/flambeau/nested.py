"""Tensors of rows of different lengths: not available, and saying so."""

from __future__ import annotations

from flambeau import _lazy

__all__: list[str] = []
__getattr__ = _lazy.unavailable(__name__, "Flambeau has no nested tensors yet")
