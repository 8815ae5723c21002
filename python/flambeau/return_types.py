"""Types of results with named fields, such as `flambeau.return_types.max`, by operator name."""

from __future__ import annotations

from flambeau import _C


def __getattr__(name: str) -> type[tuple[object, ...]]:
    if name.startswith("_"):
        raise AttributeError(f"module 'flambeau.return_types' has no attribute '{name}'")
    return _C._return_type(name)
