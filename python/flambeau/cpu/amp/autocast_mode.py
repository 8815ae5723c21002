# mypy: implicit-reexport
"""The scope of autocast, where programs look for it, too."""

from __future__ import annotations

from flambeau.cpu.amp import autocast

__all__ = ["autocast"]
