# mypy: implicit-reexport
"""Times of statements: how long they take, over and over, and tables of them."""

from __future__ import annotations

from flambeau import _lazy
from flambeau.utils.benchmark.compare import Colorize, Compare
from flambeau.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    select_unit,
    trim_sigfig,
    unit_to_english,
)
from flambeau.utils.benchmark.timer import Language, Timer, set_torch_threads, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

__getattr__ = _lazy.unavailable(__name__, "see flambeau.profiler, and tests/benchmarks of the tree")
