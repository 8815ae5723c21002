"""The events of a profile, what happened inside each, and their sums by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from flambeau.profiler import _table

Shapes = tuple[tuple[int, ...], ...]

# Ranges that are not shown; no user's begins so.
COMPUTING = "\x01computing"  # in a call: around the one that is made in place of it
COUNTED = "\x01flops "  # inside that, after the call: its operations


class Measured:
    """Times in microseconds, memory in bytes and floating-point operations, of one call or several.

    What is called `self` is without the calls inside; the rest is with them, but for operations,
    which are counted where they are made.
    """

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    allocated_bytes: int
    freed_bytes: int
    self_allocated_bytes: int
    self_freed_bytes: int
    flops: int

    @property
    def cpu_time(self) -> float:
        """Microseconds of a call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes allocated less bytes freed."""
        return self.allocated_bytes - self.freed_bytes

    @property
    def self_cpu_memory_usage(self) -> int:
        """The same, without the calls inside."""
        return self.self_allocated_bytes - self.self_freed_bytes


@dataclass(eq=False)
class FunctionEvent(Measured):
    """A call of an operator, a node of backward, what the engine does around one, or a range.

    Attributes:
        name: of the operator, "aten::exp", or "PACKAGE::NAME" where a package declares it; of the
            node, "autograd::engine::evaluate_function: " and that of the node, or of the range.
        kind: "call", "backward", "engine" or "range".
        thread: the system's number of the thread.
        start, end: microseconds, since some fixed moment.
        input_shapes: of the tensors among the arguments, or of the gradients that a node got;
            with `record_shapes`.
        stack: the lines of Python that made the call, the innermost first; with `with_stack`.
        cpu_parent, cpu_children: the call that it was made in, and those made in it.
        flops: floating-point operations that declarations count; with `with_flops`.

    Example:
        >>> with flambeau.profiler.profile() as profile:
        ...     _ = flambeau.ones(3).exp()
        >>> profile.events()[0].end >= profile.events()[0].start
        True
    """

    name: str
    kind: str
    thread: int
    start: float
    end: float
    input_shapes: Shapes = ()
    stack: list[str] = field(default_factory=list)
    cpu_parent: FunctionEvent | None = field(default=None, repr=False)
    cpu_children: list[FunctionEvent] = field(default_factory=list, repr=False)
    self_allocated_bytes: int = 0
    self_freed_bytes: int = 0
    allocated_bytes: int = 0
    freed_bytes: int = 0
    flops: int = 0
    count: int = 1

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from start to end."""
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same, without the calls inside."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Memory that tensors took (bytes > 0) or gave back, and the call in which that happened."""

    time: float
    thread: int
    address: int
    bytes: int
    during: FunctionEvent | None


@dataclass
class FunctionEventAvg(Measured):
    """What calls of one name took together: times in microseconds, memory in bytes.

    Args:
        key: the name.
        input_shapes, stack: of the calls, where they are grouped by them.
        count: of the calls.
        cpu_time_total, self_cpu_time_total: with and without calls inside.
        allocated_bytes, freed_bytes, self_allocated_bytes, self_freed_bytes: likewise.
        flops: floating-point operations, with `with_flops`.

    Example:
        >>> with flambeau.profiler.profile() as profile:
        ...     for _ in range(3):
        ...         _ = flambeau.ones(3).exp()
        >>> [row.count for row in profile.key_averages() if row.key == "aten::exp"]
        [3]
    """

    key: str
    input_shapes: Shapes = ()
    stack: list[str] = field(default_factory=list)
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    allocated_bytes: int = 0
    freed_bytes: int = 0
    self_allocated_bytes: int = 0
    self_freed_bytes: int = 0
    flops: int = 0

    def add(self, other: Measured, *, is_inner: bool = False) -> None:
        """Counts another in; `is_inner`: its whole is counted already, with a call around it."""
        self.count += other.count
        self.self_cpu_time_total += other.self_cpu_time_total
        self.self_allocated_bytes += other.self_allocated_bytes
        self.self_freed_bytes += other.self_freed_bytes
        self.flops += other.flops
        if not is_inner:
            self.cpu_time_total += other.cpu_time_total
            self.allocated_bytes += other.allocated_bytes
            self.freed_bytes += other.freed_bytes


class EventList(list[Any]):
    """Events of a profile, or their averages by name; printed as a table.

    Args:
        iterable: of events.

    Example:
        >>> with flambeau.profiler.profile() as profile:
        ...     _ = flambeau.ones(3).exp()
        >>> type(profile.events()).__name__
        'EventList'
    """

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all of them together."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Sums of the calls of each name, in the order of the first.

        Args:
            group_by_input_shapes: calls of other shapes have a sum of their own.
            group_by_stack_n: calls from other places have one; compared are so many lines.
        """
        sums: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else ()
            stack = event.stack[:group_by_stack_n]
            key = (event.key, shapes, tuple(stack))
            if key not in sums:
                sums[key] = FunctionEventAvg(event.key, shapes, stack)
            sums[key].add(event, is_inner=_is_inside_same(event))
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """All of them as one: its whole is that of those which no other one holds."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event, is_inner=getattr(event, "cpu_parent", None) is not None)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, a line each.

        Args:
            sort_by: the attribute by which the largest come first, such as
                "self_cpu_time_total", "count" or "self_allocated_bytes"; None: as they are.
            row_limit: how many lines at most; below 0: all.
            max_name_column_width, max_shapes_column_width: longer texts are cut.
            header: a line above.
            top_level_events_only: without those that happened inside others.
            time_unit: "ns", "us", "ms" or "s"; None: for each number what suits it.

        Raises:
            ValueError: events have no such attribute that is a number, or there is no such unit.
        """
        shown = list(self)
        if top_level_events_only:
            shown = [event for event in shown if getattr(event, "cpu_parent", None) is None]
        if sort_by is not None:
            shown.sort(key=_number_of(sort_by), reverse=True)
        return _table.text(
            shown if row_limit < 0 else shown[:row_limit],
            self.self_cpu_time_total,
            _table.Layout(max_name_column_width, max_shapes_column_width, header, time_unit),
        )

    def __str__(self) -> str:
        return self.table()


def _number_of(name: str) -> Callable[[Measured], float]:
    # Of a device with a clock of its own there is none: what it is asked for is the CPU's.
    attribute = name.replace("cuda_", "cpu_").replace("device_", "cpu_")

    def number(event: Measured) -> float:
        value = getattr(event, attribute, None)
        if not isinstance(value, int | float):
            raise ValueError(f"table(): argument 'sort_by' is {name!r}: events have no such number")
        return value

    return number


def _is_inside_same(event: Any) -> bool:
    """Whether a call of the same name holds it, which a recursive function's do."""
    outer = getattr(event, "cpu_parent", None)
    while outer is not None:
        if outer.key == event.key:
            return True
        outer = outer.cpu_parent
    return False


def read(threads: Iterable[Any]) -> tuple[EventList, list[MemoryEvent]]:
    """Events in order of time, from what the native code recorded."""
    calls: list[FunctionEvent] = []
    memory: list[MemoryEvent] = []
    for thread, events in threads:
        reader = _Reader(thread, calls, memory)
        for event in events:
            reader.seen.append(reader.read(*event))
    for change in memory:
        _count_memory(change)
    calls.sort(key=lambda event: event.start)
    memory.sort(key=lambda change: change.time)
    return EventList(calls), memory


class _Reader:
    """Reads what one thread recorded, an event at a time."""

    def __init__(self, thread: int, calls: list[FunctionEvent], memory: list[MemoryEvent]) -> None:
        self.thread, self.calls, self.memory = thread, calls, memory
        self.seen: list[FunctionEvent | None] = []  # of each event: what those in it belong to
        self.computing: dict[int, FunctionEvent | None] = {}  # ranges of this name -> the call

    def read(
        self,
        kind: str,
        name: str,
        parent: int,
        start: int,
        end: int,
        size: int,
        address: int,
        shapes: Shapes,
        stack: str,
    ) -> FunctionEvent | None:
        """What events in this one belong to."""
        outer = self.seen[parent] if parent >= 0 else None
        if kind == "memory":
            self.memory.append(MemoryEvent(start / 1e3, self.thread, address, size, outer))
            return None
        if name == COMPUTING:
            self.computing[len(self.seen)] = None
            return outer
        if name.startswith(COUNTED):
            counted = self.computing.get(parent)
            if counted is not None:
                counted.flops += int(name.removeprefix(COUNTED))
            return None
        if kind == "call" and "::" not in name:
            name = f"aten::{name}"  # as programs that look for one expect
        elif kind == "engine":
            name = f"autograd::engine::evaluate_function: {name}"
        is_computed = parent in self.computing and self.computing[parent] is None
        if is_computed and outer is not None and outer.name == name:
            event = outer
            event.start, event.end = start / 1e3, end / 1e3  # without the way through Python
        else:
            event = self._add(name, kind, start / 1e3, end / 1e3, shapes, stack, outer)
        if is_computed:
            self.computing[parent] = event
        return event

    def _add(
        self,
        name: str,
        kind: str,
        start: float,
        end: float,
        shapes: Shapes,
        stack: str,
        outer: FunctionEvent | None,
    ) -> FunctionEvent:
        lines = stack.splitlines()[::-1] if stack else outer.stack if outer else []
        event = FunctionEvent(name, kind, self.thread, start, end, shapes, lines, outer)
        if outer is not None:
            outer.cpu_children.append(event)
        self.calls.append(event)
        return event


def _count_memory(change: MemoryEvent) -> None:
    taken, given = max(change.bytes, 0), max(-change.bytes, 0)
    if change.during is not None:
        change.during.self_allocated_bytes += taken
        change.during.self_freed_bytes += given
    for event in _outwards(change.during):
        event.allocated_bytes += taken
        event.freed_bytes += given


def _outwards(event: FunctionEvent | None) -> Iterator[FunctionEvent]:
    while event is not None:
        yield event
        event = event.cpu_parent
