"""What was measured of a statement, and how times are written."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_WORDS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_LARGE_IQR = 0.1  # of the median: more says that something else ran, too


@dataclass(frozen=True)
class TaskSpec:
    """What is measured, and what it is called.

    Args:
        stmt: the statement.
        setup, global_setup: what runs before.
        label, sub_label, description: what it is called; tables have the label as their title, a
            row of each sub_label and a column of each description.
        env: the name of an environment, which rows show.
        num_threads: that compute.

    Example:
        >>> flambeau.utils.benchmark.TaskSpec("x @ x", "pass", label="products").title
        'products'
    """

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement; and the sub_label."""
        name = self.label or self.stmt
        return f"{name}: {self.sub_label}" if self.sub_label else name

    @property
    def as_row_name(self) -> str:
        """The sub_label, or the statement."""
        return self.sub_label or self.stmt


@dataclass
class Measurement:
    """What was measured of a statement.

    Args:
        number_per_run: how often it was run each time.
        raw_times: seconds of each time.
        task_spec: what was run.
        metadata: what a program keeps with it.

    Example:
        >>> from flambeau.utils.benchmark import Measurement, TaskSpec
        >>> Measurement(10, [0.1, 0.3, 0.2], TaskSpec("step()")).median
        0.02
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        """Seconds of one run, each time."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def median(self) -> float:
        """Seconds of one run, in the middle of all times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Seconds of one run on average."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """Between the first and the third quarter of the times, in seconds."""
        if len(self.raw_times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    @property
    def significant_figures(self) -> int:
        """How many digits of the median say something, from 1 to 5: those above the width of an
        interval around it that 8 of 10 such medians fall into, by the normal distribution.
        """
        deviation = max(self.iqr / 1.349, self.median * 1e-9)  # of a normal distribution
        width = 2 * 1.282 * deviation / math.sqrt(len(self.times))
        digits = math.log10(self.median / width) if self.median > 0 else 1.0
        return min(max(round(digits), 1), 5)

    def meets_confidence(self, threshold: float = _LARGE_IQR) -> bool:
        """Whether the quarters are no further apart than a share of the median."""
        return self.iqr <= threshold * self.median

    @property
    def has_warnings(self) -> bool:
        """Whether they are further apart than a tenth."""
        return not self.meets_confidence()

    @property
    def title(self) -> str:
        """What was measured, in words."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The name of the environment."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """What a table calls its row."""
        return self.task_spec.as_row_name

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One of each task, with all its times."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [
            Measurement(1, [t for m in group for t in m.times], task)
            for task, group in groups.items()
        ]

    def __str__(self) -> str:
        unit, scale = select_unit(self.median)
        runs, threads = len(self.raw_times), self.task_spec.num_threads
        lines = [self.title]
        if self.task_spec.description:
            lines.append(self.task_spec.description)
        if self.task_spec.setup not in ("", "pass"):
            lines.append("setup: " + self.task_spec.setup.strip().replace("\n", "\n       "))
        if runs > 1:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        else:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        lines.append(
            f"  {runs} measurement{'s' * (runs > 1)}, {self.number_per_run} runs "
            f"{'per measurement, ' * (runs > 1) or ', '}{threads} thread{'s' * (threads > 1)}"
        )
        if self.has_warnings:
            share = 100 * self.iqr / self.median
            lines.append(f"  WARNING: the quarters are {share:.1f} % of the median apart")
        return "\n".join(lines)


def select_unit(t: float) -> tuple[str, float]:
    """The unit that a time is written in, and its seconds.

    Args:
        t: seconds.

    Example:
        >>> flambeau.utils.benchmark.select_unit(0.003)
        ('ms', 0.001)
    """
    return next(((u, s) for u, s in reversed(_UNITS.items()) if t >= s), ("ns", 1e-9))


def unit_to_english(u: str) -> str:
    """The word for a unit.

    Args:
        u: "ns", "us", "ms" or "s".

    Example:
        >>> flambeau.utils.benchmark.unit_to_english("us")
        'microsecond'
    """
    return _WORDS[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to so many digits.

    Args:
        x: the number.
        n: of digits.

    Example:
        >>> flambeau.utils.benchmark.trim_sigfig(123.456, 2)
        120.0
    """
    return float(f"{x:.{n - 1}e}")
