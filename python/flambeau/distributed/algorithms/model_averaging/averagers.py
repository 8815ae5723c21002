"""When models are averaged over processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from flambeau.distributed.algorithms.model_averaging import utils
from flambeau.distributed.process_group import ProcessGroup

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Averages parameters at steps that a subclass chooses.

    Args:
        process_group: None: all processes.

    Example:
        >>> from flambeau.distributed.algorithms.model_averaging.averagers import ModelAverager
        >>> class Never(ModelAverager):
        ...     def average_parameters(self, params):
        ...         self.step += 1
        >>> never = Never()
        >>> never.average_parameters([])
        >>> never.step
        1
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called after each step of the optimizer, with parameters or groups of them."""


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every so many steps.

    Args:
        period: how many.
        warmup_steps: how many come first, which average nothing.
        process_group: None: all processes.

    Raises:
        ValueError: period is not above 0, or warmup_steps below.

    Example:
        >>> from flambeau.distributed.algorithms.model_averaging import averagers
        >>> averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
        >>> weight = flambeau.tensor([1.0 + 2 * flambeau.distributed.get_rank()])
        >>> weight.grad = flambeau.zeros(1)
        >>> for _ in range(3):  # in each of two processes
        ...     averager.average_parameters([weight])
        >>> weight
        tensor([2.])
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0 or period <= 0:
            raise ValueError(
                "PeriodicModelAverager: period must be above 0 and warmup_steps not below, got "
                f"{period} and {warmup_steps}"
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages parameters or groups of them, if it is their turn."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
