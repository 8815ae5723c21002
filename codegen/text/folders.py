"""Where declarations lie: the library's own folder, and the files of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

_FUNCTIONS = "functions"
_LIBRARY = "dtypes.yaml"  # no package of operators has functions of formulas of its own
_chosen: ContextVar[Path | None] = ContextVar("chosen", default=None)


def default_folder() -> Path:
    """What `library_folder` chose; else declarations/ beside the generator, in the tree or
    installed.
    """
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    return _beside_the_generator()


@cache
def _beside_the_generator() -> Path:
    root = Path(__file__).resolve().parents[2]
    candidates = (root / "declarations", root.parent / "declarations")
    return next((c for c in candidates if c.is_dir()), candidates[0])


def yaml_files(folder: Path) -> list[Path]:
    """The files of a folder of declarations and of its rooms, the folders in it, ordered by name:
    in which room a file lies changes nothing. Those of functions are no declarations of operators.
    """
    apart = set(function_files(folder))
    files = (path for path in folder.rglob("*.yaml") if path not in apart)
    return sorted(files, key=lambda path: (path.name, str(path)))


def function_files(folder: Path) -> list[Path]:
    """The files of the functions that formulas may call, one for each family of these."""
    return sorted((folder / _FUNCTIONS).glob("*.yaml")) if (folder / _LIBRARY).is_file() else []


def rooms(folder: Path) -> list[str]:
    """The folders in a folder of declarations that hold files of such."""
    return sorted({file.parent.name for file in yaml_files(folder) if file.parent != folder})


@contextmanager
def library_folder(folder: Path) -> Iterator[None]:
    """Another folder is the library's meanwhile: that of the tree that somebody works in."""
    token = _chosen.set(folder)
    try:
        yield
    finally:
        _chosen.reset(token)
