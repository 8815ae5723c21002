"""Where the library's own declarations lie."""

from __future__ import annotations

from pathlib import Path


def default_folder() -> Path:
    """declarations/ beside the generator, in the tree or installed."""
    root = Path(__file__).resolve().parents[2]
    candidates = (root / "declarations", root.parent / "declarations")
    return next((c for c in candidates if c.is_dir()), candidates[0])
