"""Where the library's own declarations lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_chosen: ContextVar[Path | None] = ContextVar("chosen", default=None)


def default_folder() -> Path:
    """What `library_folder` chose; else declarations/ beside the generator, in the tree or
    installed.
    """
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    root = Path(__file__).resolve().parents[2]
    candidates = (root / "declarations", root.parent / "declarations")
    return next((c for c in candidates if c.is_dir()), candidates[0])


@contextmanager
def library_folder(folder: Path) -> Iterator[None]:
    """Another folder is the library's meanwhile: that of the tree that somebody works in."""
    token = _chosen.set(folder)
    try:
        yield
    finally:
        _chosen.reset(token)
