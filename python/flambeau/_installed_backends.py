"""Loads the backends that are installed beside the library, so that their devices can be named."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from flambeau import _C

_LIBRARY = Path(_C.__file__).parent / "lib" / "libflambeau_cuda.so"

if "FLAMBEAU_CUDA_LIBRARY" in os.environ or _LIBRARY.exists():
    from flambeau.cuda import _library

    try:
        _library.load()
    except RuntimeError as _error:  # the CPU works without it
        warnings.warn(str(_error), stacklevel=2)
