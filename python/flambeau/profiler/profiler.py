# mypy: implicit-reexport
"""The names of `flambeau.profiler`, where programs look for them, too."""

from __future__ import annotations

from flambeau.profiler import (
    ProfilerAction,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ProfilerAction",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
