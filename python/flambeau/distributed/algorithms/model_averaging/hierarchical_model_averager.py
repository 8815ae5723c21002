"""Models averaged over neighbours often, and over all processes seldom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
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
            one step, the last of them counts.
        warmup_steps: how many steps come first, which average nothing.
        process_group: None: all processes.

    Raises:
        ValueError: a period is not above 0, a size does not divide the number of processes, or
            the last one is another.

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
        sizes = [*given.values()]
        fit = all(period > 0 for period in given) and sizes[-1:] == [whole]
        if not fit or not all(size > 0 and whole % size == 0 for size in sizes) or warmup_steps < 0:
            raise ValueError(
                "HierarchicalModelAverager: periods must be above 0, sizes divide the number of "
                f"processes, {whole}, which the last one is, and warmup_steps not be below 0, got "
                f"{given} and {warmup_steps}"
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
        """Averages parameters or groups of them over the last group whose turn it is."""
        if self.step >= self.warmup_steps:
            turns = [p for p in self.period_process_group_dict if self.step % p == 0]
            if turns:
                chosen = self.period_process_group_dict[turns[-1]]
                utils.average_parameters_or_parameter_groups(params, chosen)
        self.step += 1
