"""Linear algebra: norms and what else the declarations put into the namespace `linalg`."""

from __future__ import annotations

from flambeau import _C
from flambeau._export import names_of, public_members

globals().update(public_members(_C.linalg))

__all__ = names_of(globals())
