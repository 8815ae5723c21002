"""Settings of PyTorch's compiler, which programs write: they are kept, and change nothing.

See flambeau.compiler.
"""

from __future__ import annotations

from flambeau import _lazy
from flambeau._inductor import config

__all__ = ["config"]

__getattr__ = _lazy.unavailable(__name__, "Flambeau has no compiler")
