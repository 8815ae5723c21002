"""The former way to make profiles; flambeau.profiler has the present one."""

from __future__ import annotations

import os
from typing import Any

from flambeau import profiler
from flambeau.profiler import EventList, FunctionEventAvg, record_function

__all__ = ["emit_nvtx", "profile", "record_function"]


class profile:
    """What the calls inside a `with` block took.

    Args:
        enabled: False: nothing is recorded.
        record_shapes, with_flops, profile_memory, with_stack: as in `flambeau.profiler.profile`.
        with_modules: refused.
        use_cuda, use_device, use_cpu, use_kineto: other clocks, of which there are none; taken for
            programs that give them.

    Example:
        >>> with flambeau.autograd.profiler.profile() as report:
        ...     _ = flambeau.ones(3).exp()
        >>> sorted({event.key.split("::")[-1] for event in report.key_averages()})
        ['exp', 'ones']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
    ) -> None:
        self.enabled = enabled
        self._profile = profiler.profile(
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
        )

    def __enter__(self) -> profile:
        if self.enabled:
            self._profile.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.enabled:
            self._profile.stop()

    @property
    def function_events(self) -> EventList:
        """Every call, in order of time."""
        return self._profile.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all calls together."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Sums of the calls of each name."""
        return self._profile.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All calls as one."""
        return self.function_events.total_average()

    def table(self, *arguments: Any, **options: Any) -> str:
        """Every call as a line of text; arguments are those of `EventList.table`."""
        return self.function_events.table(*arguments, **options)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace for chrome://tracing."""
        self._profile.export_chrome_trace(path)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Writes stacks in the format of flame graphs; needs `with_stack`."""
        self._profile.export_stacks(path, metric)

    def __str__(self) -> str:
        return self.table()


class emit_nvtx:
    """Would mark every operator for NVIDIA's profilers; refused, but where it is off.

    Args:
        enabled: False: nothing happens.
        record_shapes: accepted.

    Raises:
        RuntimeError: on entering, where it is enabled; `flambeau.profiler` makes profiles.

    Example:
        >>> with flambeau.autograd.profiler.emit_nvtx(enabled=False):
        ...     _ = flambeau.ones(3).exp()
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise RuntimeError(
                "autograd.profiler.emit_nvtx: operators are not marked for NVIDIA's profilers; "
                "flambeau.profiler makes profiles"
            )
        return self

    def __exit__(self, *exception: Any) -> None:
        pass
