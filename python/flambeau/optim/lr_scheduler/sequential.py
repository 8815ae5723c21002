"""Schedules made of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from flambeau.optim.lr_scheduler.base import LRScheduler
from flambeau.optim.optimizer import Optimizer


class SequentialLR(LRScheduler):
    """One schedule after another.

    Args:
        schedulers: of the same optimizer.
        milestones: the epochs at which the second, third, ... start.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.)
        >>> from flambeau.optim.lr_scheduler import ExponentialLR, LinearLR, SequentialLR
        >>> warm = LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> decay = ExponentialLR(optimizer, gamma=0.1)
        >>> schedule = SequentialLR(optimizer, [warm, decay], milestones=[2])
        >>> for epoch in range(4):
        ...     print(f"{schedule.get_last_lr()[0]:.2f}")
        ...     optimizer.step()
        ...     schedule.step()
        0.50
        0.75
        1.00
        0.10
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedules need {len(schedulers) - 1} milestones, "
                f"got {len(milestones)}"
            )
        for scheduler in schedulers:
            if scheduler.optimizer is not optimizer:
                raise ValueError("SequentialLR: every schedule must be of the optimizer given")
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        # The schedules have each set their first rates: back to the start, then the first one's.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self, epoch: float | None = None) -> None:
        """Goes on to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; the state of each schedule."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        for scheduler, own in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(own)
        self.__dict__.update(state)


class ChainedScheduler(LRScheduler):
    """Steps several schedules together, so that their factors multiply.

    Args:
        schedulers: of one optimizer.
        optimizer: that one; None: the first schedule's.

    Example:
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.)
        >>> halves = flambeau.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> tenths = flambeau.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> schedule = flambeau.optim.lr_scheduler.ChainedScheduler([halves, tenths])
        >>> for epoch in range(3):
        ...     optimizer.step()
        ...     schedule.step()
        ...     print(f"{schedule.get_last_lr()[0]:.4f}")
        0.5000
        0.0250
        0.0125
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: expected at least one schedule")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for scheduler in schedulers:
            if scheduler.optimizer is not self.optimizer:
                raise ValueError("ChainedScheduler: every schedule must be of one optimizer")
        self._schedulers = list(schedulers)
        self._last_lr = self._rates()

    def step(self, epoch: float | None = None) -> None:
        """Steps every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict
