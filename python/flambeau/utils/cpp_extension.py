"""C++ extensions of PyTorch: their sources call its C++ library, which Flambeau does not have.

Operators and kernels in C++ are built with `flambeau ops build` and `flambeau.ops.load`.
"""

from __future__ import annotations

import os
import sys

from flambeau import _lazy
from flambeau._build.compiler import BuildError, find_ninja

__all__: list[str] = []

IS_WINDOWS = sys.platform == "win32"
IS_HIP_EXTENSION = False
ROCM_HOME: str | None = None
CUDA_HOME: str | None = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
__getattr__ = _lazy.unavailable(
    __name__,
    "such extensions call PyTorch's C++ library; flambeau.ops.load compiles operators and kernels",
)


def is_ninja_available() -> bool:
    """Whether the program ninja is there, with which `flambeau.ops.load` builds, too.

    Example:
        >>> flambeau.utils.cpp_extension.is_ninja_available() in (True, False)
        True
    """
    try:
        find_ninja()
    except BuildError:
        return False
    return True


def verify_ninja_availability() -> None:
    """Nothing, where ninja is there.

    Raises:
        BuildError: it is not.

    Example:
        >>> if flambeau.utils.cpp_extension.is_ninja_available():
        ...     flambeau.utils.cpp_extension.verify_ninja_availability()
    """
    find_ninja()
