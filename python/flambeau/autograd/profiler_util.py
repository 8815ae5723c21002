# mypy: implicit-reexport
"""Events of profiles by the module that programs import them from."""

from __future__ import annotations

from flambeau.profiler import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
