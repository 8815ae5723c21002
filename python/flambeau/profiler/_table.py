"""Events as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_FLOPS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "K"), (1, ""))


@dataclass(frozen=True)
class Layout:
    """How wide columns are at most, the line above, and the unit of times."""

    name_width: int
    shapes_width: int
    header: str | None
    time_unit: str | None

    def __post_init__(self) -> None:
        if self.time_unit is not None and self.time_unit not in _UNITS:
            raise ValueError(
                f"table(): argument 'time_unit' is {self.time_unit!r}, expected one of "
                f"{', '.join(_UNITS)}"
            )


def text(events: Sequence[Any], total: float, layout: Layout) -> str:
    """A line per event; `total`: the microseconds that are 100 %."""

    def time(value: float) -> str:
        return _time(value, layout.time_unit)

    def share(value: float) -> str:
        return f"{100 * value / total if total else 0:.2f}%"

    columns: list[tuple[str, Callable[[Any], str]]] = [
        ("Name", lambda e: _cut(e.key, layout.name_width)),
        ("Self CPU %", lambda e: share(e.self_cpu_time_total)),
        ("Self CPU", lambda e: time(e.self_cpu_time_total)),
        ("CPU total %", lambda e: share(e.cpu_time_total)),
        ("CPU total", lambda e: time(e.cpu_time_total)),
        ("CPU time avg", lambda e: time(e.cpu_time)),
    ]
    if any(e.allocated_bytes or e.freed_bytes for e in events):
        columns += [
            ("Allocated", lambda e: _bytes(e.allocated_bytes)),
            ("Self allocated", lambda e: _bytes(e.self_allocated_bytes)),
            ("Self freed", lambda e: _bytes(e.self_freed_bytes)),
        ]
    columns.append(("# of Calls", lambda e: str(e.count)))
    most = max((e.flops for e in events), default=0)
    if most:
        columns.append(_flops(most))
    if any(e.input_shapes for e in events):
        columns.append(("Input Shapes", lambda e: _shapes(e.input_shapes, layout.shapes_width)))
    if any(e.stack for e in events):
        columns.append(("Source", lambda e: e.stack[0] if e.stack else ""))
    rows = [[title for title, _ in columns], *([cell(e) for _, cell in columns] for e in events)]
    lines = _aligned(rows)
    rule = "-" * len(lines[0])
    above = [] if layout.header is None else [layout.header]
    below = f"Self CPU time total: {time(total)}"
    return "\n".join([*above, rule, lines[0], rule, *lines[1:], rule, below])


def _aligned(rows: list[list[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _time(microseconds: float, unit: str | None) -> str:
    if unit is None:
        unit = "us" if microseconds < 1e3 else "ms" if microseconds < 1e6 else "s"
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1024
    return f"{count:.2f} GB"


def _flops(most: int) -> tuple[str, Callable[[Any], str]]:
    """A column in the largest unit of which the largest number has one."""
    size, unit = next((s, u) for s, u in _FLOPS if most >= s)
    return f"Total {unit}FLOPs", lambda e: f"{e.flops / size:.3f}" if e.flops else "--"


def _shapes(shapes: Sequence[Sequence[int]], width: int) -> str:
    return _cut(str([list(shape) for shape in shapes]), width)


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else words[: max(width - 3, 0)] + "..."
