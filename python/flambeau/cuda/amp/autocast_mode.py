# mypy: implicit-reexport
"""The scope of autocast, where programs look for it, too."""

from __future__ import annotations

from flambeau.cuda.amp import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
