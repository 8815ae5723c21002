"""Names that modules look up when they are asked for: submodules, so that the import stays quick,
and what there is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from flambeau._shown_name import shown


def submodules(
    namespace: dict[str, Any],
    names: tuple[str, ...],
    members: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose submodules `names` load on first use.

    `members`: names that it has from submodules, and which. `families`: the same of names that
    begin so.
    """
    package: str = namespace["__name__"]
    places = members or {}
    absent = missing(package)

    def get(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        if name in places:
            return getattr(import_module(f"{package}.{places[name]}"), name)
        for prefix, place in (families or {}).items():
            if name.startswith(prefix):
                return getattr(import_module(f"{package}.{place}"), name)
        return absent(name)

    def listed() -> list[str]:
        return sorted({*namespace, *names, *places})

    return get, listed


def missing(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has all its names."""

    def get(name: str) -> Any:
        # Python's traceback says which name of `obj` is near.
        raise AttributeError(
            f"module '{shown(module)}' has no attribute '{name}': "
            f"{shown(module)}.{name} is not in Flambeau yet",
            name=name,
            obj=_Near(module, name),
        )

    return get


class _Near:
    """Has the names of a module that resemble one: where there are more than 750, Python looks for
    none. They are looked for when they are asked for, as programs often try what is not there.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __dir__(self) -> list[str]:
        from difflib import get_close_matches  # late: the import of the library stays quick

        return get_close_matches(self._name, dir(import_module(self._module)), 20)


def unavailable(module: str, reason: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose other names stand for what there is not."""

    def get(name: str) -> Any:
        raise AttributeError(f"{shown(module)}.{name} is not available: {reason}", name=name)

    return get
