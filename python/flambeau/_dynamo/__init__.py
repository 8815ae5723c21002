"""What libraries ask of PyTorch's tracer: there is none, and its marks and settings change nothing.

See flambeau.compiler.
"""

from __future__ import annotations

from typing import Any

from flambeau import _lazy
from flambeau._dynamo import config, eval_frame
from flambeau._dynamo.eval_frame import OptimizedModule
from flambeau.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable"]
__all__ += [
    "eval_frame",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "reset",
]


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: there are no recordings that hold addresses."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: programs run for the sizes that come."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: programs run for the sizes that come."""


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no compiler")
