"""C++ extensions of PyTorch: their sources call its C++ library, which Flambeau does not have.

Operators and kernels in C++ are built with `flambeau ops build` and `flambeau.ops.load`.
"""

from __future__ import annotations

import os

from flambeau import _lazy

__all__: list[str] = []

CUDA_HOME: str | None = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
__getattr__ = _lazy.unavailable(
    __name__,
    "such extensions call PyTorch's C++ library; flambeau.ops.load compiles operators and kernels",
)
