# mypy: implicit-reexport
"""`Adamax`, where programs look for it, too."""

from __future__ import annotations

from flambeau.optim.adadelta import Adamax

__all__ = ["Adamax"]
