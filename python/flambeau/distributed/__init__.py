# mypy: implicit-reexport
"""Training on several processes, of one machine or many.

Every process calls `init_process_group`, and knows the others by their ranks from then on. Messages
go over TCP; "gloo" is the name that programs give it.

Examples here run in a group of one process, which `init_process_group` begins and
`destroy_process_group` ends. Where they say "in each of two processes", both do what is shown, and
both see what is printed:

    >>> x = flambeau.tensor([1.0, 2.0])  # in each of two processes
    >>> flambeau.distributed.all_reduce(x)
    >>> x
    tensor([2., 4.])
"""

from __future__ import annotations

import typing as _typing

from flambeau import _lazy
from flambeau.distributed.backend import (
    Backend,
    BackendConfig,
    get_default_backend_for_device,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
)
from flambeau.distributed.barriers import barrier, breakpoint, monitored_barrier
from flambeau.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    scatter,
)
from flambeau.distributed.combining import ReduceOp
from flambeau.distributed.combining import premul_sum as _make_nccl_premul_sum  # noqa: F401
from flambeau.distributed.debug_level import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh
from flambeau.distributed.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from flambeau.distributed.file_store import FileStore
from flambeau.distributed.letters import P2POp, batch_isend_irecv, irecv, isend, recv, send
from flambeau.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.reductions import (
    all_reduce,
    all_reduce_coalesced,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
)
from flambeau.distributed.rendezvous import register_rendezvous_handler
from flambeau.distributed.shrinking import shrink_group
from flambeau.distributed.store import HashStore, PrefixStore, Store
from flambeau.distributed.tcp_store import TCPStore
from flambeau.distributed.titles import record_comm
from flambeau.distributed.work import Work
from flambeau.distributed.world import (
    GroupMember,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
    supports_complex,
)

__all__ = [
    "Backend",
    "BackendConfig",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "breakpoint",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "record_comm",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "shrink_group",
    "split_group",
    "supports_complex",
]

reduce_op = ReduceOp  # the name of old programs

if _typing.TYPE_CHECKING:
    from flambeau.distributed import algorithms as algorithms
    from flambeau.distributed import checkpoint as checkpoint
    from flambeau.distributed import deprecated as deprecated
    from flambeau.distributed import fsdp as fsdp
    from flambeau.distributed import nn as nn
    from flambeau.distributed import optim as optim
    from flambeau.distributed import tensor as tensor
    from flambeau.nn.parallel.reducer import GradBucket
else:
    _submodules = ("algorithms", "checkpoint", "deprecated", "fsdp", "nn", "optim", "tensor")
    _submodule, __dir__ = _lazy.submodules(globals(), _submodules)
    _absent = _lazy.unavailable(
        __name__,
        "of several processes there are groups, collectives and messages of the cpu's tensors, "
        "and models that all of them have whole",
    )

    def __getattr__(name: str) -> _typing.Any:
        if name == "GradBucket":
            from flambeau.nn.parallel.reducer import GradBucket

            return GradBucket
        return _submodule(name) if name in _submodules else _absent(name)
