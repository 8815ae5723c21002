"""The former place of Variable."""

# mypy: implicit-reexport
from __future__ import annotations

from flambeau.autograd import Variable

__all__ = ["Variable"]
