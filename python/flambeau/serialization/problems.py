"""What is wrong with a file, and where."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager


class UnreadableFileError(RuntimeError):
    """The file is not what it should be, or damaged.

    Args:
        place: the file, or a place in it.
        reason: what is wrong; empty where `place` says it.
    """

    def __init__(self, place: str, reason: str = "") -> None:
        super().__init__(f"load: {place}: {reason}" if reason else f"load: {place}")


@contextmanager
def told_of(place: str) -> Iterator[None]:
    """Failures inside say where in a file they come from.

    Raises:
        pickle.UnpicklingError: in place of every other exception but those of the system, and
            those that name their place already.
    """
    try:
        yield
    except (UnreadableFileError, OSError):
        raise
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(f"load: {place}: {error}") from error
    except MemoryError as error:
        raise RuntimeError(f"load: {place}: there is not enough memory") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise pickle.UnpicklingError(f"load: {place}: {reason}") from error
