"""Classes that libraries name and that are not there."""

from __future__ import annotations

from typing import Any

WHOLE = "models are whole in each process; nn.parallel.DistributedDataParallel is there"


class Absent:
    """What nothing is an instance of: NotImplementedError for who makes one.

    Example:
        >>> from flambeau.distributed.absent import Absent
        >>> Absent()
        Traceback (most recent call last):
            ...
        NotImplementedError: Absent is not available: models are whole in each process; ...
    """

    why = WHOLE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} is not available: {self.why}")
