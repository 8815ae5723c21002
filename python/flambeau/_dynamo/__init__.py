"""What libraries ask of PyTorch's tracer: there is none, and its marks and settings change nothing.

See flambeau.compiler.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from flambeau import _lazy
from flambeau.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset

__all__ = ["allow_in_graph", "assume_constant_result", "config", "disable", "is_compiling"]
__all__ += ["mark_dynamic", "mark_static", "mark_static_address", "reset"]

config = SimpleNamespace()
"""Settings: whatever a program sets is kept."""


class OptimizedModule:
    """What nothing is an instance of: a model that was compiled."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: there are no recordings that hold addresses."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: programs run for the sizes that come."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: programs run for the sizes that come."""


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no compiler")
