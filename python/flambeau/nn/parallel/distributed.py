"""One module in several processes, each with a part of the batch."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributed import ReduceOp, all_gather_object, all_reduce, broadcast
from flambeau.distributed.algorithms.join import Join, Joinable, JoinConfig, JoinHook
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.work import Work
from flambeau.distributed.world import member
from flambeau.nn.module import Module
from flambeau.nn.parallel.reducer import Hook, Reducer

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20


class DistributedDataParallel(Module, Joinable):
    """A module that every process of a group has, and whose gradients are the averages of all.

    Processes begin with the parameters and buffers of rank 0. While backward runs, gradients are
    averaged in buckets, and all processes take the same steps (S. Li et al., "PyTorch Distributed:
    experiences on accelerating data parallel training", 2020). With equal parts of a batch in all
    processes, and a loss that is a mean, gradients are those of one process with the whole batch.

    Args:
        module: equal in all processes: parameters of the same names, shapes and dtypes.
        device_ids, output_device: None: the module is on the cpu.
        dim: of no meaning.
        broadcast_buffers: a forward begins with the buffers of rank 0, unless the one before it
            averaged nothing, in `no_sync` or without gradients; None: True.
        init_sync: begin with the parameters and buffers of rank 0.
        process_group: of processes; None: all.
        bucket_cap_mb: MiB of gradients that are averaged in one call; None: 25.
        find_unused_parameters: look which parameters the outputs depend on; needed where some get
            no gradient.
        check_reduction: of no meaning.
        gradient_as_bucket_view: gradients lie in the buckets, and need no memory of their own.
        static_graph: the same parameters are used in each iteration; they are looked for each time.

    Raises:
        RuntimeError: no parameter requires grad, or processes have different ones.
        ValueError: device_ids are given, or bucket_cap_mb is not positive.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel: device_ids and output_device must be None: processes "
                f"exchange tensors of the cpu, got {device_ids} and {output_device}"
            )
        if bucket_cap_mb is not None and bucket_cap_mb <= 0:
            raise ValueError(
                f"DistributedDataParallel: bucket_cap_mb must be positive, got {bucket_cap_mb}"
            )
        self.module = module
        self.dim = dim
        self.device_ids = None
        self.output_device = None
        self.broadcast_buffers = broadcast_buffers is not False
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._hook: tuple[Any, Hook] | None = None
        self._join_config = JoinConfig()
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MIB)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._enter(process_group)
        self._check_alike()
        if init_sync:
            self._send_state()

    def _enter(self, group: ProcessGroup | None) -> None:
        """Makes what belongs to a group of processes."""
        found = member(group)
        if found is None:
            raise ValueError("DistributedDataParallel: this process is no member of process_group")
        parameters = self._trained()
        if not parameters:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient."
            )
        self.process_group = found
        self.reducer = Reducer(
            parameters,
            found,
            self.bucket_bytes_cap,
            self.find_unused_parameters or self.static_graph,
            self.gradient_as_bucket_view,
        )
        if self._hook is not None:
            self.reducer.communicate(*self._hook)

    def _trained(self) -> list[tuple[str, Tensor]]:
        """The parameters whose gradients are averaged, with their names."""
        return [
            (name, parameter)
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad and name not in self.parameters_to_ignore
        ]

    def _check_alike(self) -> None:
        """RuntimeError if the processes' parameters differ in name, shape or dtype."""
        mine = [(name, list(p.shape), str(p.dtype)) for name, p in self._trained()]
        others: list[Any] = [None] * self.process_group.size()
        all_gather_object(others, mine, self.process_group)
        for rank, theirs in enumerate(others):
            if len(theirs) != len(mine):
                raise RuntimeError(
                    f"DistributedDataParallel: rank {rank} of the group has {len(theirs)} "
                    f"parameters, rank {self.process_group.rank()} has {len(mine)}"
                )
            for one, other in zip(mine, theirs, strict=True):
                if one != other:
                    raise RuntimeError(
                        f"DistributedDataParallel: rank {rank} of the group has the parameter "
                        f"{other}, rank {self.process_group.rank()} has {one} in its place"
                    )

    def _tensors(self, tensors: Iterator[tuple[str, Tensor]]) -> list[Tensor]:
        return [t for name, t in tensors if name not in self.parameters_to_ignore]

    def _send_state(self) -> None:
        tensors = self._tensors(self.module.named_parameters())
        self._broadcast(tensors + self._tensors(self.module.named_buffers()))

    def _broadcast(self, tensors: list[Tensor], source: int = 0) -> None:
        """Gives all processes the tensors of a rank of the group; one call for each dtype."""
        by_dtype: dict[Any, list[Tensor]] = {}
        for tensor in tensors:
            by_dtype.setdefault(tensor.dtype, []).append(tensor.detach())
        for alike in by_dtype.values():
            flat = flambeau.cat([tensor.reshape(-1) for tensor in alike])
            broadcast(flat, group=self.process_group, group_src=source)
            parts = flat.split([tensor.numel() for tensor in alike])
            for tensor, part in zip(alike, parts, strict=True):
                # What is equal is not written to: a graph that has saved it stays valid.
                if self.process_group.rank() != source:
                    tensor.copy_(part.view(tensor.shape))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        together = self.require_backward_grad_sync
        averaging = together and flambeau.is_grad_enabled()
        sharing = self.require_forward_param_sync
        active = Join.notify_join_context(self)
        if self._join_config.enable:
            self._agree(averaging, sharing, active)
        if together:
            self.reducer.check_finished()
        if sharing:
            self._share_buffers(joined=False)
        outputs = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averaging
        if averaging:
            self.reducer.prepare(outputs)
        else:
            self.reducer.skip()
        return outputs

    def _share_buffers(self, joined: bool) -> None:
        """Gives all processes the buffers of the first that still has batches."""
        buffers = self._tensors(self.module.named_buffers()) if self.broadcast_buffers else []
        if buffers:
            source = self._first_active(joined) if self._join_config.enable else 0
            self._broadcast(buffers, source)

    def _agree(self, averaging: bool, sharing: bool, active: Work | None) -> None:
        """Tells those that are through what this forward and its backward will exchange."""
        if active is not None and not self._join_config.divide_by_initial_world_size:
            self.reducer.divisor = int(active.result()[0])
        plan = flambeau.tensor([int(averaging), int(sharing)])
        all_reduce(plan, ReduceOp.MAX, self.process_group)

    def _first_active(self, joined: bool) -> int:
        """The first rank in the group that still has batches; 0 if none has."""
        size = self.process_group.size()
        first = flambeau.tensor([size if joined else self.process_group.rank()])
        all_reduce(first, ReduceOp.MIN, self.process_group)
        return int(first) % size

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose forwards and backwards add up gradients of this process alone; the next
        backward outside averages the sums.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Lets a function average the gradients of each bucket, once per model.

        Args:
            state: what the function gets first; for the hooks of
                `distributed.algorithms.ddp_comm_hooks` a group, None: all processes.
            hook: takes the state and a `distributed.GradBucket`, and returns a
                `futures.Future` of a tensor with the bucket's number of elements.

        Raises:
            TypeError: hook cannot be called.
            RuntimeError: the model has a hook.
        """
        if not callable(hook):
            raise TypeError(f"register_comm_hook: hook must be callable, got {brief(hook)}")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook: register_comm_hook can only be called once")
        self._hook = (state, hook)
        self.reducer.communicate(state, hook)

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A block in which processes may have different numbers of batches: those that are through
        take part in the others' averages with gradients of zero, and get the parameters of the
        last one in the end.

        Args:
            divide_by_initial_world_size: averages are over all processes; else over those that
                still have batches.
            enable: False: the block does nothing.
            throw_on_early_termination: RuntimeError on all when the first is through.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What `distributed.algorithms.join.Join` calls when this process is through."""
        return _Shadow(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> flambeau.device:
        """Where the processes' notes are."""
        return flambeau.device("cpu")

    @property
    def join_process_group(self) -> ProcessGroup:
        """The processes."""
        return self.process_group

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("process_group", "reducer"):
            state.pop(name, None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> DistributedDataParallel:
        clone = type(self).__new__(type(self))
        memo[id(self)] = clone
        clone.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return clone

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._enter(None)  # the group does not travel: it is that of all processes


class _Shadow(JoinHook):
    """What a model does in a process that has no more batches.

    Args:
        model: of this process.
        whole: averages are over all processes.
    """

    def __init__(self, model: DistributedDataParallel, whole: bool) -> None:
        self._model = model
        model._join_config.divide_by_initial_world_size = whole

    def main_hook(self) -> None:
        """Takes part in a forward and a backward of the others."""
        model = self._model
        plan = flambeau.zeros(2, dtype=flambeau.int64)
        all_reduce(plan, ReduceOp.MAX, model.process_group)
        averaging, sharing = plan.tolist()
        if sharing:
            model._share_buffers(joined=True)
        if averaging:
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Takes over the parameters and buffers of the first of those that ended last."""
        model = self._model
        model.reducer.divisor = model.process_group.size()
        tensors = model._tensors(model.module.named_parameters())
        tensors += model._tensors(model.module.named_buffers())
        model._broadcast(tensors, model._first_active(not is_last_joiner))


DistributedDataParallelCPU = DistributedDataParallel  # its former name, where devices are none
