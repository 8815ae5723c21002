"""What a program spends its time and memory on.

    with profile(profile_memory=True) as prof:
        train_step()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

Seen are calls of operators, inside one another too, the nodes of backward, and ranges that
`record_function` names, on every thread. While no profile is made, they cost the test of a byte.
"""

from flambeau.profiler._events import EventList, FunctionEvent, FunctionEventAvg
from flambeau.profiler._profile import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
