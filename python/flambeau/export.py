"""Graphs of whole programs: Flambeau makes none."""

from __future__ import annotations

from flambeau import _lazy

__all__: list[str] = []
__getattr__ = _lazy.unavailable(__name__, "Flambeau runs programs and makes no graphs of them")
