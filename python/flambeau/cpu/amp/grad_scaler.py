# mypy: implicit-reexport
"""`GradScaler`, where programs look for it, too."""

from __future__ import annotations

from flambeau.cpu.amp import GradScaler

__all__ = ["GradScaler"]
