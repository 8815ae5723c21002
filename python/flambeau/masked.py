# mypy: implicit-reexport
"""Functions of masked elements: what the declarations put into the namespace `masked`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _C, _lazy
from flambeau._export import names_of, public_members

if TYPE_CHECKING:
    from flambeau._C.masked import *  # noqa: F403

globals().update(public_members(_C.masked))

if not TYPE_CHECKING:
    __all__ = names_of(globals())
    __getattr__ = _lazy.unavailable(__name__, "Flambeau has no tensors with masks of their own yet")
