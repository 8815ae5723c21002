"""Times of statements: how long they take, over and over."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import flambeau
from flambeau import _lazy

__all__ = ["Measurement", "Timer", "timer"]

_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))


def timer() -> float:
    """Seconds, after what devices have been given is done.

    Example:
        >>> flambeau.utils.benchmark.timer() < flambeau.utils.benchmark.timer()
        True
    """
    if flambeau.cuda.is_available():
        flambeau.cuda.synchronize()
    return timeit.default_timer()


@dataclass
class Measurement:
    """What was measured of a statement.

    Args:
        number_per_run: how often it was run each time.
        raw_times: seconds of each time.
        statement: what was run.
        title: what it is called.
        num_threads: that computed.
        metadata: what a program keeps with it.

    Example:
        >>> flambeau.utils.benchmark.Measurement(10, [0.1, 0.3, 0.2], "step()").median
        0.02
    """

    number_per_run: int
    raw_times: list[float]
    statement: str = ""
    title: str = ""
    num_threads: int = 1
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

    def __str__(self) -> str:
        scale, unit = next((u for u in reversed(_UNITS) if self.median >= u[0]), _UNITS[0])
        runs, threads = len(self.raw_times), self.num_threads
        lines = [self.title or self.statement, f"  {self.median / scale:.2f} {unit}"]
        if runs > 1:
            lines[1] = f"  Median: {self.median / scale:.2f} {unit}"
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        lines.append(
            f"  {runs} measurement{'s' * (runs > 1)}, {self.number_per_run} runs "
            f"{'per measurement, ' * (runs > 1) or ', '}{threads} thread{'s' * (threads > 1)}"
        )
        return "\n".join(lines)


class Timer:
    """Runs a statement of Python over and over, and times it.

    Args:
        stmt: the statement, as text.
        setup: run once before each measurement, untimed.
        global_setup: accepted: it is for C++.
        timer: gives seconds.
        globals: names that the statement uses.
        label, sub_label, description: what it is called.
        env: accepted: a name of the environment.
        num_threads: that compute meanwhile.
        language: "python".

    Example:
        >>> from flambeau.utils.benchmark import Timer
        >>> measured = Timer("x.exp()", globals={"x": flambeau.ones(100)}).timeit(50)
        >>> measured.number_per_run, measured.median > 0
        (50, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: str = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py"):
            raise ValueError(f"Timer(): argument 'language' must be 'python', got {language!r}")
        self._statement, self._threads = stmt, num_threads
        self._title = ": ".join(filter(None, (label, sub_label, description)))
        self._timer = timeit.Timer(stmt, setup, timer, {**(globals or {})})

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of so many runs, after some that are not timed.

        Args:
            number: of runs.
        """
        return self._measured(number, lambda times: True, warm=max(number // 100, 2))

    def blocked_autorange(
        self, callback: Callable[[int, float], object] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of as many runs as the clock can tell apart, for so long in all.

        Args:
            callback: called with the number of runs and the seconds of each measurement.
            min_run_time: seconds.
        """
        return self._until(lambda times: sum(times) >= min_run_time, min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], object] | None = None,
    ) -> Measurement:
        """Measurements until they agree, or for so long.

        Args:
            threshold: the distance of their quarters, as a share of their median, that is enough.
            min_run_time, max_run_time: seconds in all, at least and at most.
            callback: called with the number of runs and the seconds of each measurement.
        """

        def is_enough(times: Sequence[float]) -> bool:
            if sum(times) >= max_run_time or (len(times) < 4 and sum(times) < min_run_time):
                return sum(times) >= max_run_time
            found = Measurement(1, list(times))
            return len(times) > 3 and found.iqr <= threshold * found.median

        return self._until(is_enough, min_run_time, callback)

    def _until(
        self,
        is_enough: Callable[[Sequence[float]], bool],
        seconds: float,
        callback: Callable[[int, float], object] | None,
    ) -> Measurement:
        number = 1
        with _threads(self._threads):
            self._timer.timeit(2)
            while self._timer.timeit(number) < min(1e-3, seconds / 10) and number < 10**9:
                number *= 10
        return self._measured(number, is_enough, callback=callback)

    def _measured(
        self,
        number: int,
        is_enough: Callable[[Sequence[float]], bool],
        warm: int = 0,
        callback: Callable[[int, float], object] | None = None,
    ) -> Measurement:
        times: list[float] = []
        with _threads(self._threads):
            if warm:
                self._timer.timeit(warm)
            while not times or not is_enough(times):
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._statement, self._title, self._threads)


class _threads:
    """A block in which so many threads compute."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> None:
        self._before = flambeau.get_num_threads()
        flambeau.set_num_threads(self._count)

    def __exit__(self, *error: object) -> None:
        flambeau.set_num_threads(self._before)


__getattr__ = _lazy.unavailable(__name__, "see flambeau.profiler, and tests/benchmarks of the tree")
