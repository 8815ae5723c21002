"""Settings: whatever a program sets is kept. Groups of settings are there for the same end."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["cpp", "triton"]

cpp = SimpleNamespace()
triton = SimpleNamespace()
