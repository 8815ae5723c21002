"""What deterministic programs switch: whether new memory is filled.

Flambeau's kernels give the same results each time; `empty` fills nothing, whatever is set here.
"""

from __future__ import annotations

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = False
"""Kept, and without effect."""
