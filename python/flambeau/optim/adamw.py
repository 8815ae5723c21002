# mypy: implicit-reexport
"""`AdamW`, where programs look for it, too."""

from __future__ import annotations

from flambeau.optim.adam import AdamW

__all__ = ["AdamW"]
