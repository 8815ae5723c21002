"""Models averaged over neighbours often, and over all processes seldom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from flambeau.distributed.algorithms.model_averaging import averagers, utils
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.world import get_world_size, group, new_subgroups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages parameters over groups of neighbours, the larger ones every so many steps more.

    Args:
        period_group_size_dict: how many steps lie between two averages over groups of a size, the
            smallest first; the last size is that of `process_group`. Where several periods end in
            one step, the largest group is averaged.
        warmup_steps: how many steps come first, which average nothing.
        process_group: None: all processes.

    Raises:
        ValueError: periods or sizes do not grow by whole factors, or the last size is another.

    Source: T. Lin et al., Don't Use Large Mini-Batches, Use Local SGD, 2018.

    Example:
        >>> from collections import OrderedDict
        >>> from flambeau.distributed.algorithms.model_averaging import hierarchical_model_averager
        >>> averager = hierarchical_model_averager.HierarchicalModelAverager(
        ...     OrderedDict([(1, flambeau.distributed.get_world_size())])
        ... )
        >>> weight = flambeau.tensor([1.0 + 2 * flambeau.distributed.get_rank()])
        >>> weight.grad = flambeau.zeros(1)
        >>> averager.average_parameters([weight])  # in each of two processes
        >>> weight
        tensor([2.])
    """

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int],
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(process_group or group.WORLD)
        whole = get_world_size(self.process_group)
        given = dict(period_group_size_dict)
        grow = all(
            below > 0 and above > below and above % below == 0
            for each in (given, given.values())
            for below, above in pairwise((1, *each) if 1 not in each else each)
        )
        if not given or not grow or [*given.values()][-1] != whole or warmup_steps < 0:
            raise ValueError(
                "HierarchicalModelAverager: periods and sizes must grow by whole factors up to "
                f"the {whole} processes, and warmup_steps not be below 0, got {given} and "
                f"{warmup_steps}"
            )
        self.warmup_steps = warmup_steps
        self.period_process_group_dict: OrderedDict[int, Any] = OrderedDict(
            (period, self._group(size, whole)) for period, size in given.items()
        )

    def _group(self, size: int, whole: int) -> Any:
        if size == whole:
            return self.process_group
        return new_subgroups(size, group=self.process_group)[0]

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages parameters or groups of them over the largest group whose turn it is."""
        if self.step >= self.warmup_steps:
            turns = [p for p in self.period_process_group_dict if self.step % p == 0]
            if turns:
                chosen = self.period_process_group_dict[turns[-1]]
                utils.average_parameters_or_parameter_groups(params, chosen)
        self.step += 1
