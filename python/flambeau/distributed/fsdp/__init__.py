"""Models whose parameters are divided among processes: not available, and saying so. Libraries ask
whether a model is one; none is. `wrap` says which modules would be, `api` has the words for how;
both are there.
"""

from __future__ import annotations

from typing import Any

from flambeau import _lazy
from flambeau._absent_classes import WHOLE, AbsentShards
from flambeau.distributed.fsdp import api
from flambeau.distributed.fsdp import wrap as wrap
from flambeau.distributed.fsdp.api import *  # noqa: F403

__all__ = [
    *api.__all__,
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "fully_shard",
]


class FSDPModule(AbsentShards):
    """What no module is an instance of; NotImplementedError for who makes one.

    Example:
        >>> isinstance(flambeau.nn.ReLU(), flambeau.distributed.fsdp.FSDPModule)
        False
    """


class FullyShardedDataParallel(AbsentShards):
    """What no module is an instance of; NotImplementedError for who makes one.

    Example:
        >>> model = flambeau.nn.ReLU()
        >>> isinstance(model, flambeau.distributed.fsdp.FullyShardedDataParallel)
        False
    """


class MixedPrecisionPolicy(AbsentShards):
    """NotImplementedError for who makes one.

    Example:
        >>> flambeau.distributed.fsdp.MixedPrecisionPolicy()
        Traceback (most recent call last):
            ...
        NotImplementedError: MixedPrecisionPolicy is not available: models are whole in each ...
    """


class CPUOffloadPolicy(AbsentShards):
    """NotImplementedError for who makes one.

    Example:
        >>> flambeau.distributed.fsdp.CPUOffloadPolicy()
        Traceback (most recent call last):
            ...
        NotImplementedError: CPUOffloadPolicy is not available: models are whole in each ...
    """


def fully_shard(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: models are whole in each process.

    Example:
        >>> flambeau.distributed.fsdp.fully_shard(flambeau.nn.Linear(1, 1))
        Traceback (most recent call last):
            ...
        NotImplementedError: fully_shard is not available: models are whole in each process; ...
    """
    raise NotImplementedError(f"fully_shard is not available: {WHOLE}")


__getattr__ = _lazy.unavailable(__name__, WHOLE)
