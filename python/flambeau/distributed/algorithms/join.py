"""Training with different numbers of batches in the processes of a group."""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any

import flambeau
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.reductions import all_reduce
from flambeau.distributed.work import Work

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000
"""Steps that a process may do for others before it says so."""


class JoinHook:
    """What a `Joinable` does in a process that is through.

    Example:
        >>> class Silent(flambeau.distributed.algorithms.JoinHook):
        ...     def post_hook(self, is_last_joiner):
        ...         print("all are through")
        >>> Silent().main_hook(), Silent().post_hook(True)
        all are through
        (None, None)
    """

    def main_hook(self) -> None:
        """Is called for each step of the others: makes the collective calls that they make."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Is called once all are through. `is_last_joiner`: this process was among the last."""


@dataclasses.dataclass
class JoinConfig:
    """How a Joinable takes part in a `Join`."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False
    divide_by_initial_world_size: bool = True


class Joinable(ABC):
    """What can be in a `Join`: it calls `Join.notify_join_context(self)` in each step, before its
    own collective calls.

    Example:
        >>> from flambeau.distributed import algorithms
        >>> issubclass(flambeau.nn.parallel.DistributedDataParallel, algorithms.Joinable)
        True
    """

    _join_config: JoinConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What it does in a process that is through. `kwargs`: those of `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> flambeau.device:
        """Where its tensors are."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The processes."""


class Join:
    """A block that processes may leave at different times: in those that are through, hooks make
    the collective calls of the others' steps.

    Args:
        joinables: of one group, in the same order in all processes; the first one counts steps.
        enable: False: the block does nothing.
        throw_on_early_termination: RuntimeError on all when the first is through.
        kwargs: for the hooks.

    Raises:
        ValueError: there are no joinables, or they have different groups.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> with flambeau.distributed.algorithms.Join([model]):
        ...     for step in range(1 + rank):
        ...         layer.zero_grad()
        ...         model(flambeau.ones(1, 1)).sum().backward()
        >>> layer.weight.grad  # of the second step, which rank 0 has not: (0 + 1) / 2
        tensor([[0.5000]])
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("Join: The join context manager requires at least one joinable")
        if any(not isinstance(one, Joinable) for one in joinables):
            kinds = ", ".join(type(one).__name__ for one in joinables)
            raise TypeError(f"Join: joinables must be Joinable, got {kinds}")
        group = joinables[0].join_process_group
        if any(one.join_process_group is not group for one in joinables):
            raise ValueError("Join: Using join context manager with multiple process groups")
        self._joinables = joinables
        self._hooks = [one.join_hook(**kwargs) for one in joinables]
        self._enable = enable
        self._throw = throw_on_early_termination
        self._group = group

    def __enter__(self) -> None:
        for number, one in enumerate(self._joinables):
            config = one._join_config
            config.enable = self._enable
            config.throw_on_early_termination = self._throw
            config.is_first_joinable = number == 0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for one in self._joinables:
                one._join_config.enable = False

    def _shadow(self) -> None:
        last, steps = True, 0
        while (active := _count(0, self._group)) > 0:
            last, steps = False, steps + 1
            if self._throw:
                _count(1, self._group)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            if steps == _MANY:
                warnings.warn(
                    f"Join: this process has been through for {steps} steps of {active} others; "
                    "divide the data more evenly",
                    stacklevel=3,
                )
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tells the processes that are through that a step of this one begins.

        Returns:
            For the first joinable of a block that is enabled, a Work whose result is the number of
            processes that are not through; else None.

        Raises:
            RuntimeError: some process is through, and the block was told to throw then.
        """
        config: JoinConfig | None = getattr(joinable, "_join_config", None)
        if config is None:
            raise AttributeError(
                f"Check that the {type(joinable).__name__}'s constructor calls that of Joinable"
            )
        if not config.enable or not config.is_first_joinable:
            return None
        group = joinable.join_process_group
        work = all_reduce(flambeau.ones(1, dtype=flambeau.int64), group=group, async_op=True)
        if config.throw_on_early_termination:
            assert work is not None
            if int(work.result()[0]) < group.size():
                _count(0, group)
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work


def _count(mine: int, group: ProcessGroup) -> int:
    """The sum of a number over all processes."""
    total = flambeau.tensor([mine])
    all_reduce(total, group=group)
    return int(total)
