"""Quantized and pruned models: not available, and saying so."""

from __future__ import annotations

from flambeau import _lazy

__path__: list[str] = []  # of parts that are not there: _absent_modules
__all__: list[str] = []
__getattr__ = _lazy.unavailable(__name__, "Flambeau has no quantized tensors yet")
