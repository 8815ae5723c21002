"""What checkpoints of several processes fail with."""

from __future__ import annotations

__all__ = ["CheckpointException"]


class CheckpointException(Exception):
    """What failed in which process; raised in all of them.

    Args:
        msg: what was done.
        failures: texts of what went wrong, by rank.

    Example:
        >>> from flambeau.distributed.checkpoint import CheckpointException
        >>> print(CheckpointException("load", {1: "no file"}))
        load failed in process 1: no file
    """

    def __init__(self, msg: str, failures: dict[int, str]) -> None:
        told = "; ".join(f"in process {rank}: {text}" for rank, text in failures.items())
        super().__init__(f"{msg} failed {told}")
        self.failures = failures
