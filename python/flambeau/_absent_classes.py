"""Classes that libraries name and that are not there."""

from __future__ import annotations

from typing import Any

WHOLE = "models are whole in each process; nn.parallel.DistributedDataParallel is there"


class Absent:
    """What nothing is an instance of: NotImplementedError for who makes one. Subclasses say `why`.

    Example:
        >>> from flambeau._absent_classes import Absent
        >>> class Quantizer(Absent):
        ...     why = "Flambeau has no quantized tensors yet"
        >>> Quantizer()
        Traceback (most recent call last):
            ...
        NotImplementedError: Quantizer is not available: Flambeau has no quantized tensors yet
    """

    why: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} is not available: {self.why}")


class AbsentShards(Absent):
    """What would be divided among processes."""

    why = WHOLE
