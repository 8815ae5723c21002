"""Tensors that are divided among processes: not available, and saying so. Libraries ask whether a
tensor is one; none is.
"""

from __future__ import annotations

from typing import Any

from flambeau import _lazy
from flambeau._absent_classes import WHOLE, AbsentShards
from flambeau.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor"]


class DTensor(AbsentShards):
    """What no tensor is an instance of.

    Raises:
        NotImplementedError: always.

    Example:
        >>> isinstance(flambeau.zeros(1), flambeau.distributed.tensor.DTensor)
        False
    """


def distribute_tensor(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: tensors are whole in each process.

    Example:
        >>> flambeau.distributed.tensor.distribute_tensor(flambeau.zeros(2))
        Traceback (most recent call last):
            ...
        NotImplementedError: distribute_tensor is not available: models are whole in each ...
    """
    raise NotImplementedError(f"distribute_tensor is not available: {WHOLE}")


__getattr__ = _lazy.unavailable(__name__, WHOLE)
