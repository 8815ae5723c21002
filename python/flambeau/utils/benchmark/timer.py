"""Running a statement over and over."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau.utils.benchmark.measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "set_torch_threads", "timer"]


def timer() -> float:
    """Seconds, after what devices have been given is done.

    Example:
        >>> flambeau.utils.benchmark.timer() < flambeau.utils.benchmark.timer()
        True
    """
    if flambeau.cuda.is_available():
        flambeau.cuda.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """What statements are written in: Python.

    Example:
        >>> flambeau.utils.benchmark.Language.PYTHON.value
        0
    """

    PYTHON = 0
    CPP = 1


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
        language: "python" or Language.PYTHON.

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
        language: str | Language = Language.PYTHON,
    ) -> None:
        if language is not Language.PYTHON and str(language).lower() not in ("python", "py"):
            raise ValueError(f"Timer(): argument 'language' must be 'python', got {language!r}")
        stmt, setup = (textwrap.dedent(text).strip("\n") for text in (stmt, setup))
        self._threads = num_threads
        names = (label, sub_label, description, env)
        self._task_spec = TaskSpec(stmt, setup, global_setup, *names, num_threads)
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
            found = Measurement(1, list(times), self._task_spec)
            return len(times) > 3 and found.iqr <= threshold * found.median

        return self._until(is_enough, min_run_time, callback)

    def _until(
        self,
        is_enough: Callable[[Sequence[float]], bool],
        seconds: float,
        callback: Callable[[int, float], object] | None,
    ) -> Measurement:
        number = 1
        with set_torch_threads(self._threads):
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
        with set_torch_threads(self._threads):
            if warm:
                self._timer.timeit(warm)
            while not times or not is_enough(times):
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """A block in which so many threads compute.

    Args:
        n: of threads.

    Example:
        >>> with flambeau.utils.benchmark.set_torch_threads(1):
        ...     flambeau.get_num_threads()
        1
    """
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(n)
    try:
        yield
    finally:
        flambeau.set_num_threads(before)
