"""How processes that a launcher started fail, and marks of their main functions."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class ProcessFailure:
    """A process that failed.

    Args:
        local_rank: which of its machine.
        pid: its number in the system.
        exitcode: with what it exited; negative: the signal that ended it.
        error_file: "": errors are in no file.
        message: the traceback, of functions.
        timestamp: when, in seconds.

    Example:
        >>> from flambeau.distributed.elastic.multiprocessing.errors import ProcessFailure
        >>> ProcessFailure(0, 7, -9).signal_name()
        'SIGKILL'
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str = ""
    message: str = ""
    timestamp: int = 0

    def signal_name(self) -> str:
        """Of the signal that ended it; "<N/A>": none did."""
        known = self.exitcode < 0 and -self.exitcode in set(signal.Signals)
        return signal.Signals(-self.exitcode).name if known else "<N/A>"

    def how(self) -> str:
        """What became of it, in words."""
        if self.exitcode < 0:
            return f"was ended by signal {-self.exitcode}"
        return f"exited with {self.exitcode}"


class ChildFailedError(Exception):
    """A process that a launcher started has failed.

    Args:
        name: of what ran.
        failures: by rank.

    Example:
        >>> from flambeau.distributed.launcher.api import LaunchConfig, elastic_launch
        >>> from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError
        >>> try:
        ...     elastic_launch(LaunchConfig(1, 1, 1, max_restarts=0, start_method="fork"), int)("x")
        ... except ChildFailedError as error:
        ...     print(error.get_first_failure()[1].exitcode)
        1
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name = name
        self.failures = failures
        super().__init__(
            "\n".join(
                f"{name}: rank {rank} {failure.how()}"
                + f"\n\n{failure.message}" * bool(failure.message)
                for rank, failure in failures.items()
            )
        )

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank of the one that failed first, and how."""
        return min(self.failures.items(), key=lambda item: item[1].timestamp)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.failures)


def record(fn: F, error_handler: Any = None) -> F:
    """The function as it is: errors of processes are printed by `flambeau.distributed.run`.

    Args:
        fn: a program's main function.
        error_handler: accepted for compatibility.

    Example:
        >>> from flambeau.distributed.elastic.multiprocessing.errors import record
        >>> @record
        ... def main():
        ...     return 3
        >>> main()
        3
    """
    return fn
