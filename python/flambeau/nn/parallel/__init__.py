# mypy: implicit-reexport
"""One module on several devices of a process, or in several processes.

Examples run in a group of one process (`flambeau.distributed`), or in each of two, as they say.
"""

from __future__ import annotations

import typing as _typing

from flambeau import _lazy
from flambeau.nn.parallel.data_parallel import DataParallel, data_parallel
from flambeau.nn.parallel.parallel_apply import parallel_apply
from flambeau.nn.parallel.replicate import replicate
from flambeau.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "DistributedDataParallelCPU"]
__all__ += ["data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

if _typing.TYPE_CHECKING:
    from flambeau.nn.parallel import distributed as distributed
    from flambeau.nn.parallel.distributed import (
        DistributedDataParallel,
        DistributedDataParallelCPU,
    )
else:
    __getattr__, __dir__ = _lazy.submodules(
        globals(),
        ("distributed",),
        {
            "DistributedDataParallel": "distributed",
            "DistributedDataParallelCPU": "distributed",
        },
    )
