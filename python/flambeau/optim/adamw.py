# mypy: implicit-reexport
"""`AdamW` and `adamw`, where programs look for it, too."""

from __future__ import annotations

from flambeau.optim.adam import AdamW, adamw

__all__ = ["AdamW", "adamw"]
