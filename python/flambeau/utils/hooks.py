"""Handles of hooks."""

# mypy: implicit-reexport
from __future__ import annotations

from flambeau.nn.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
