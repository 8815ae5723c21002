"""An optimizer whose state is divided among the processes of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributed.algorithms.join import Join, Joinable, JoinConfig, JoinHook
from flambeau.distributed.collectives import broadcast
from flambeau.distributed.objects import gather_object
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.world import member
from flambeau.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Each process has the state of some of the parameters, takes their steps, and sends the others
    what came of it (S. Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
    parameter models", 2020).

    Parameters go to the process that has the fewest elements so far, the largest first. Gradients
    are those of all processes, as `DistributedDataParallel` makes them.

    Args:
        params: as of other optimizers, equal in all processes.
        optimizer_class: of the steps.
        process_group: of processes; None: all.
        parameters_as_bucket_view: of no meaning: what is sent is copied once.
        overlap_with_ddp: must be False: steps are taken by `step`.
        defaults: arguments of the optimizer.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> from flambeau.distributed.optim import ZeroRedundancyOptimizer
        >>> layer = flambeau.nn.Linear(2, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), flambeau.optim.Adam, lr=0.1)
        >>> model(flambeau.ones(1, 2)).sum().backward()
        >>> optimizer.step()
        >>> len(optimizer.optim.state)  # of weight and bias, one is here
        1
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise ValueError(
                "ZeroRedundancyOptimizer: overlap_with_ddp must be False: steps are taken by step()"
            )
        if not (isinstance(optimizer_class, type) and issubclass(optimizer_class, Optimizer)):
            raise TypeError(
                "ZeroRedundancyOptimizer: optimizer_class must be an Optimizer, got "
                f"{brief(optimizer_class)}"
            )
        group = member(process_group)
        if group is None:
            raise ValueError("ZeroRedundancyOptimizer: this process is no member of process_group")
        self.process_group = group
        self.rank, self.world_size = group.rank(), group.size()
        self._join_config = JoinConfig()
        self._make, self._given = optimizer_class, defaults
        self._whole: dict[str, Any] | None = None
        self._owners: dict[Tensor, int] = {}
        self._part: Optimizer | None = None
        super().__init__(params, dict(defaults))
        self._begin()

    def _begin(self) -> None:
        """Divides all parameters, and makes the optimizer of this process's part."""
        given = [p for group in self.param_groups for p in group["params"]]
        elements = [0] * self.world_size
        self._owners = {}
        for parameter in sorted(given, key=lambda p: -p.numel()):
            owner = elements.index(min(elements))
            self._owners[parameter] = owner
            elements[owner] += parameter.numel()
        before = self._part.state if self._part is not None else {}
        # A process may own nothing, of a group or of all: groups keep their numbers.
        empty = flambeau.zeros(0)
        groups = [{**group, "params": self._mine(group) or [empty]} for group in self.param_groups]
        self._part = self.optim = self._make(groups, **self._given)
        for mine, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            mine["params"] = self._mine(group)
            group.update({key: value for key, value in mine.items() if key != "params"})
        for parameter, state in before.items():
            if self._owners[parameter] == self.rank:
                self.optim.state[parameter] = state

    def _mine(self, group: dict[str, Any]) -> list[Tensor]:
        return [p for p in group["params"] if self._owners[p] == self.rank]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters, and divides all anew; the state of those that go elsewhere is lost."""
        super().add_param_group(param_group)
        if self._part is not None:
            self._begin()

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Any]) -> Any: ...
    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Takes the steps of this process's parameters, and gives all processes all of them.

        All processes call it.
        """
        Join.notify_join_context(self)
        for mine, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            mine.update({key: value for key, value in group.items() if key != "params"})
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        for mine, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            group.update({key: value for key, value in mine.items() if key != "params"})
        self._send()
        return loss

    def _send(self) -> None:
        """Gives all processes the parameters of each; a call for each owner and dtype."""
        parts: dict[tuple[int, Any], list[Tensor]] = {}
        for parameter, owner in self._owners.items():
            parts.setdefault((owner, parameter.dtype), []).append(parameter.detach())
        for (owner, _), tensors in parts.items():
            flat = flambeau.cat([tensor.reshape(-1) for tensor in tensors])
            broadcast(flat, group=self.process_group, group_src=owner)
            if owner == self.rank:
                continue
            split = flat.split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, split, strict=True):
                tensor.copy_(part.view(tensor.shape))

    def _numbers(self) -> dict[Tensor, int]:
        """The numbers that state_dicts know parameters by."""
        given = [p for group in self.param_groups for p in group["params"]]
        return {parameter: number for number, parameter in enumerate(given)}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Brings the whole state to a rank of the group, for its `state_dict`. All call it."""
        numbers = self._numbers()
        mine = {numbers[p]: state for p, state in self.optim.state.items() if p in numbers}
        if self.rank != to:
            gather_object(mine, None, group=self.process_group, group_dst=to)
            return
        parts: list[Any] = [None] * self.world_size
        gather_object(mine, parts, group=self.process_group, group_dst=to)
        state = {number: part[number] for part in parts for number in part}
        self._whole = dict(sorted(state.items()))

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the optimizer of one process would have it.

        Raises:
            RuntimeError: `consolidate_state_dict` has not brought it here.
        """
        if self._whole is None:
            raise RuntimeError(
                "ZeroRedundancyOptimizer.state_dict: Optimizer state has not been consolidated on "
                f"this rank ({self.rank}). Please call `consolidate_state_dict(to={self.rank})` on "
                "all ranks beforehand"
            )
        numbers = self._numbers()
        groups = [
            {**group, "params": [numbers[p] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": self._whole, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes this process's part of a whole state. All processes call it with the same."""
        super().load_state_dict(state_dict)
        for parameter, state in self.state.items():
            if self._owners[parameter] == self.rank:
                self.optim.state[parameter] = state
        self.state.clear()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What `distributed.algorithms.join.Join` calls when this process is through."""
        return _Shadow(self)

    @property
    def join_device(self) -> flambeau.device:
        """Where parameters are."""
        return flambeau.device("cpu")

    @property
    def join_process_group(self) -> ProcessGroup:
        """The processes."""
        return self.process_group


class _Shadow(JoinHook):
    """Takes the steps of this process's parameters while others still have batches."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        """Takes a step with the gradients that the shadowed backward has left."""
        self._optimizer.step()
