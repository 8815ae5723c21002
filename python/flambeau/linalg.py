# mypy: implicit-reexport
"""Linear algebra: norms and what else the declarations put into the namespace `linalg`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _C, _lazy
from flambeau._export import names_of, public_members
from flambeau._matrix_chains import multi_dot as multi_dot

if TYPE_CHECKING:
    from flambeau._C.linalg import *  # noqa: F403

globals().update(public_members(_C.linalg))
LinAlgError = _C._LinAlgError

if not TYPE_CHECKING:
    __all__ = names_of(globals())

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
