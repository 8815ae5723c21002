"""Where in a model a call failed: a note on the exception, which a traceback shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.nn.module import Module


@dataclass(frozen=True)
class _Place:
    failed: Module  # the innermost module
    seen_from: Module  # the outermost one that the exception has left
    path: str  # from there to the innermost; "" where they are the same
    note: str


def note(module: Module, error: Exception) -> None:
    """Says on an exception that leaves a call of `module` which module failed, seen from there."""
    inner: _Place | None = getattr(error, "_flambeau_place", None)
    notes = getattr(error, "__notes__", [])
    step = None if inner is None else _path(module, inner.seen_from)
    if inner is None or step is None or inner.note not in notes:
        failed, path = module, ""
    else:
        notes.remove(inner.note)  # from here it is longer
        failed, path = inner.failed, ".".join(filter(None, (step, inner.path)))
    shown = _shown(failed)
    place = f"in {type(module).__name__}.{path} ({shown})" if path else f"in {shown}"
    error.__dict__["_flambeau_place"] = _Place(failed, module, path, place)
    error.add_note(place)


def _path(module: Module, inner: Module) -> str | None:
    """What `inner` is called in `module`; None: it is no part of it."""
    return next((name for name, each in module.named_modules() if each is inner), None)


def _shown(module: Module) -> str:
    """Its representation where that is short, and exists: what failed may be in its attributes."""
    try:
        shown = repr(module)
    except Exception:
        return type(module).__name__
    return type(module).__name__ if "\n" in shown or len(shown) > 120 else shown
