# mypy: implicit-reexport
"""Special functions: what the declarations put into the namespace `special`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _C, _lazy
from flambeau._export import names_of, public_members

if TYPE_CHECKING:
    from flambeau._C.special import *  # noqa: F403

globals().update(public_members(_C.special))

if not TYPE_CHECKING:
    __all__ = names_of(globals())

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
