"""Making profiles: from a block of a program, or from some of its steps."""

from __future__ import annotations

import contextlib
import enum
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flambeau._C import _profiler
from flambeau._values import brief
from flambeau.profiler import _events, _files
from flambeau.profiler._events import EventList, MemoryEvent

if TYPE_CHECKING:
    from flambeau.utils._python_dispatch import TorchDispatchMode


class ProfilerActivity(enum.Enum):
    """What a profile watches: calls on the CPU. Work of other devices shows as the calls that
    start it.

    Example:
        >>> flambeau.profiler.ProfilerActivity.CPU.name
        'CPU'
    """

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a profile does in a step; RECORD_AND_SAVE: it is the last one of its cycle.

    Example:
        >>> [action.name for action in flambeau.profiler.ProfilerAction]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Those that profiles can watch.

    Example:
        >>> flambeau.profiler.ProfilerActivity.CPU in flambeau.profiler.supported_activities()
        True
    """
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """False: profiles are Flambeau's own, not of the library Kineto.

    Example:
        >>> flambeau.profiler.kineto_available()
        False
    """
    return False


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Steps in cycles: `wait` of them are let go by, `warmup` are recorded and forgotten, `active`
    are recorded.

    Args:
        repeat: how many cycles there are; 0: they go on.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle has no `wait`.

    Raises:
        ValueError: a number is negative, or `active` is 0.

    Example:
        >>> phases = flambeau.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [phases(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    for name, number in {**locals()}.items():
        if number < (1 if name == "active" else 0):
            raise ValueError(f"schedule(): argument '{name}' is {number}, which is too small")
    cycle = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        step -= skip_first
        if step >= 0 and skip_first_wait:
            step += wait
        if step < 0 or (repeat and step >= repeat * cycle):
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action_of


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes each profile to a folder, as
    WORKER.TIME.pt.trace.json, where TensorBoard's profiler looks for it.

    Args:
        worker_name: None: of the host and the process.
        use_gzip: whether files are compressed.
        dir_name: the folder, made if need be.

    Example:
        >>> import os, tempfile
        >>> from flambeau.profiler import profile, tensorboard_trace_handler
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "worker0")):
        ...         _ = flambeau.ones(3).exp()
        ...     print(*os.listdir(folder))
        worker0....pt.trace.json
    """

    def write(finished: profile) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        ending = "json.gz" if use_gzip else "json"
        name = f"{worker}.{time.time_ns()}.pt.trace.{ending}"
        finished.export_chrome_trace(str(Path(dir_name) / name))

    return write


class record_function(contextlib.ContextDecorator):
    """A named range, which a profile shows with the calls in it: a context, or a decorator.

    Args:
        name: what it is called.
        args: taken for programs that give it, and shown after the name.

    Example:
        >>> with flambeau.autograd.profiler.profile() as report:
        ...     with flambeau.autograd.profiler.record_function("my part"):
        ...         _ = flambeau.ones(3).exp()
        >>> "my part" in {event.key for event in report.key_averages()}
        True
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._begun: list[Any] = []

    def __enter__(self) -> record_function:
        shown = self.name if self.args is None else f"{self.name} {self.args}"
        self._begun.append(_profiler.begin(shown))
        return self

    def __exit__(self, *exception: Any) -> None:
        _profiler.end(self._begun.pop())

    def _recreate_cm(self) -> record_function:
        """A decorated function may call itself, on several threads."""
        return record_function(self.name, self.args)


class profile:
    """What the calls inside a `with` block took; only one profile is made at a time.

    Args:
        activities: what is watched; None: the CPU.
        schedule: which action there is in each step, which `step()` ends; None: all is recorded.
        on_trace_ready: called with the profile when one is finished.
        record_shapes: whether the shapes of arguments are kept.
        profile_memory: whether memory is watched that tensors take and give back.
        with_stack: whether the lines of Python are kept that made a call.
        with_flops: whether floating-point operations are counted, as
            `flambeau.utils.flop_counter.FlopCounterMode` does; of calls on this thread. A call then
            passes through Python, which no event's own time has in it.
        with_modules: refused: modules are not told.
        acc_events: whether events of finished cycles are kept with those of later ones.

    Raises:
        NotImplementedError: for what profiles do not count.
        RuntimeError: on entry, while another profile is being made.

    Example:
        >>> with flambeau.profiler.profile() as profile:
        ...     _ = flambeau.ones(3).exp()
        >>> len(profile.key_averages()) > 0
        True
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        if with_modules:
            raise NotImplementedError("profile(): with_modules=True: profiles tell no modules")
        others = set(activities or ()) - supported_activities()
        if others:
            names = ", ".join(sorted(activity.name for activity in others))
            warnings.warn(
                f"profile(): {names} has no clock here; its work shows as the CPU calls that "
                "start it",
                stacklevel=2,
            )
        self._schedule = schedule
        self._on_trace_ready = on_trace_ready
        self._options = (record_shapes, profile_memory, with_stack)
        self._with_flops = with_flops
        self._counter: TorchDispatchMode | None = None
        self._keeps_cycles = acc_events
        self._metadata: dict[str, Any] = {}
        self._action = ProfilerAction.NONE
        self._is_recording = False
        self._step_range: record_function | None = None
        self._unread: list[list[Any]] = []
        self._events = EventList()
        self._memory: list[MemoryEvent] = []
        self.step_num = 0

    def start(self) -> None:
        """Begins; entering the block does it."""
        self.step_num = 0
        self._enter(self._action_now())
        if self._with_flops:
            from flambeau.profiler._flops import CountFlops

            self._counter = CountFlops().__enter__()

    def stop(self) -> None:
        """Ends; leaving the block does it."""
        if self._counter is not None:
            self._counter.__exit__()
            self._counter = None
        self._leave(ProfilerAction.NONE)

    def step(self) -> None:
        """Ends a step, and begins the next one of the schedule."""
        self.step_num += 1
        upcoming = self._action_now()
        self._leave(upcoming)
        self._enter(upcoming)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def _action_now(self) -> ProfilerAction:
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def _enter(self, action: ProfilerAction) -> None:
        self._action = action
        if action is ProfilerAction.NONE:
            return
        if not self._is_recording:
            _profiler.start(*self._options)
            self._is_recording = True
        if self._schedule:
            self._step_range = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _leave(self, upcoming: ProfilerAction) -> None:
        """Ends a step, and what was recorded where the next one does not go on with it."""
        if self._step_range is not None:
            self._step_range.__exit__()
            self._step_range = None
        ended = self._action
        if not self._is_recording or (ended, upcoming) in _GOES_ON:
            return
        self._is_recording = False
        recorded = _profiler.stop()
        if ended is not ProfilerAction.WARMUP:
            self._keep(recorded)

    def _keep(self, recorded: list[Any]) -> None:
        if not self._keeps_cycles:
            self._events, self._memory = EventList(), []
            self._unread.clear()
        self._unread.append(recorded)
        if self._on_trace_ready:
            self._on_trace_ready(self)

    def _read(self) -> None:
        """Makes events of what was recorded: nobody may ask for them."""
        for recorded in self._unread:
            events, memory = _events.read(recorded)
            self._events.extend(events)
            self._memory.extend(memory)
        self._unread.clear()

    def events(self) -> EventList:
        """Every call, in order of time."""
        self._read()
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Sums of the calls of each name, and of each list of shapes or place where asked for."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def memory_events(self) -> list[MemoryEvent]:
        """What tensors took and gave back, in order of time; with `profile_memory`."""
        self._read()
        return self._memory

    def memory_snapshot(self) -> list[MemoryEvent]:
        """What was taken while the profile was made, and not given back: the largest first."""
        held: dict[int, MemoryEvent] = {}
        for change in self.memory_events():
            if change.bytes > 0:
                held[change.address] = change
            else:
                held.pop(change.address, None)
        return sorted(held.values(), key=lambda change: -change.bytes)

    def add_metadata(self, key: str, value: str) -> None:
        """A text that traces carry."""
        self._metadata[key] = value

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace for chrome://tracing and https://ui.perfetto.dev; compressed where the
        path ends in ".gz"."""
        _files.write_chrome_trace(path, self.events(), self.memory_events(), self._metadata)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Writes stacks in the format of flame graphs (Gregg, 2011), or draws the graph where the
        path ends in ".svg"; needs `with_stack`. Of nested calls it is right with the default
        metric alone, which counts each microsecond once.

        Raises:
            ValueError: the metric is no time that events have.
            RuntimeError: stacks were not recorded.
        """
        metrics = ("self_cpu_time_total", "cpu_time_total")
        if metric not in metrics:
            raise ValueError(
                f"export_stacks(): argument 'metric' is {brief(metric)}, expected one of "
                f"{', '.join(metrics)}"
            )
        if not self._options[2]:
            raise RuntimeError("export_stacks(): no stacks were recorded: pass with_stack=True")
        _files.write_stacks(path, self.events(), metric)


# What one step records, and the next one goes on with.
_GOES_ON = (
    (ProfilerAction.WARMUP, ProfilerAction.WARMUP),
    (ProfilerAction.RECORD, ProfilerAction.RECORD),
    (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE),
)
