# mypy: implicit-reexport
"""`Adamax` and `adamax`, where programs look for it, too."""

from __future__ import annotations

from flambeau.optim.adadelta import Adamax, adamax

__all__ = ["Adamax", "adamax"]
