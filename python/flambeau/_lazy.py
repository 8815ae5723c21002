"""Submodules that are imported when they are first asked for, so that the import stays quick."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def submodules(
    namespace: dict[str, Any], names: tuple[str, ...]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose submodules `names` load on first use."""
    package: str = namespace["__name__"]

    def get(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def listed() -> list[str]:
        return sorted({*namespace, *names})

    return get, listed
