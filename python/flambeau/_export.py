"""Re-exporting what the compiled module defines."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def public_members(module: ModuleType) -> dict[str, Any]:
    """The public names of a module and their values, without submodules."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


_HELPERS = ("TYPE_CHECKING", "annotations", "names_of", "public_members")


def names_of(namespace: dict[str, Any]) -> list[str]:
    """What a module with this namespace should list in `__all__`: its public names, sorted."""
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in _HELPERS
    )
