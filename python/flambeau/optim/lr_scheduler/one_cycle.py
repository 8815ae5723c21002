"""One cycle of rising and falling learning rates."""

from __future__ import annotations

import math
from typing import Any

from flambeau._values import brief
from flambeau.optim.lr_scheduler.base import LRScheduler, each_group
from flambeau.optim.lr_scheduler.momentum import has_betas, set_momentum, start_momentum
from flambeau.optim.optimizer import Optimizer


def check_strategy(who: str, anneal_strategy: str) -> None:
    """Raises ValueError for a way between two rates that there is not."""
    if anneal_strategy not in ("cos", "linear"):
        raise ValueError(
            f"{who}: anneal_strategy must be 'cos' or 'linear', got {brief(anneal_strategy)}"
        )


def _phase(end_step: float, start_lr: str, end_lr: str) -> dict[str, Any]:
    """The last step of a phase; which rates and momenta of a group it begins and ends with."""
    momenta = {
        f"{when}_momentum": "base_momentum" if rate == "max_lr" else "max_momentum"
        for when, rate in (("start", start_lr), ("end", end_lr))
    }
    return {"end_step": end_step, "start_lr": start_lr, "end_lr": end_lr, **momenta}


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to max_lr and down to max_lr / div_factor / final_div_factor, one
    step per batch (L. Smith, N. Topin, Super-Convergence, 2017).

    Args:
        max_lr: the highest rate, or one per group.
        total_steps: length of the cycle; or epochs * steps_per_epoch.
        pct_start: share of the steps that rise.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: move momentum (or beta1) the other way, between base_momentum and
            max_momentum.
        three_phase: fall to the first rate as fast as it rose, then further.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> from flambeau.optim.lr_scheduler import OneCycleLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0, momentum=0.9)
        >>> schedule = OneCycleLR(optimizer, max_lr=1., total_steps=6)
        >>> rates = []
        >>> for epoch in range(6):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.04, 0.9944, 0.8117, 0.4626, 0.1335, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0:
            raise ValueError(f"OneCycleLR: total_steps must be positive, got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be within [0, 1], got {pct_start}")
        check_strategy("OneCycleLR", anneal_strategy)
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        rise = float(pct_start * total_steps) - 1
        first, highest, last = ("initial_lr", "max_lr", "min_lr")
        if three_phase:
            self._schedule_phases = [
                _phase(rise, first, highest),
                _phase(2 * rise, highest, first),
                _phase(total_steps - 1, first, last),
            ]
        else:
            self._schedule_phases = [
                _phase(rise, first, highest),
                _phase(total_steps - 1, highest, last),
            ]
        tops = each_group("OneCycleLR", "max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, tops, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = has_betas(optimizer)
            start_momentum("OneCycleLR", optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: step {step} of a cycle of {self.total_steps} steps")
        phase, begin = 0, 0.0
        phases = self._schedule_phases
        while phase < len(phases) - 1 and step > phases[phase]["end_step"]:
            begin = phases[phase]["end_step"]
            phase += 1
        now = phases[phase]
        share = (step - begin) / (now["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[now["start_lr"]], group[now["end_lr"]], share))
            if self.cycle_momentum:
                start, end = group[now["start_momentum"]], group[now["end_momentum"]]
                set_momentum(group, self._between(start, end, share))
        return rates

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
