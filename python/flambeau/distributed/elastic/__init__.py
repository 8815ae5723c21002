"""What programs that a launcher of groups starts import: groups have one size."""

from __future__ import annotations

from flambeau import _lazy
from flambeau._absent_modules import REASONS

__all__: list[str] = []
__getattr__ = _lazy.unavailable(__name__, REASONS["distributed.elastic"])
