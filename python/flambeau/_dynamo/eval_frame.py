"""Where libraries look for the class of models that were compiled."""

from __future__ import annotations

__all__ = ["OptimizedModule"]


class OptimizedModule:
    """What nothing is an instance of."""
