"""Cycles of rising and falling learning rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau._values import brief
from flambeau.optim.lr_scheduler.base import LRScheduler, each_group
from flambeau.optim.lr_scheduler.momentum import has_betas, set_momentum, start_momentum
from flambeau.optim.optimizer import Optimizer

_MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """From base_lr evenly up to max_lr and back, over and over, one step per batch (L. Smith,
    Cyclical Learning Rates for Training Neural Networks, 2017).

    Args:
        base_lr, max_lr: lowest and highest rate, or lists of one per group.
        step_size_up: steps that rise.
        step_size_down: steps that fall; None: as many.
        mode: "triangular"; "triangular2": each cycle half as high; "exp_range": heights times
            gamma ** step.
        gamma: see mode.
        scale_fn: the height, a function of the cycle (1, 2, ...) or of the step; instead of a mode.
        scale_mode: what scale_fn is a function of, "cycle" or "iterations".
        cycle_momentum: move momentum (or beta1) the other way, between base_momentum and
            max_momentum.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> from flambeau.optim.lr_scheduler import CyclicLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0, momentum=0.9)
        >>> schedule = CyclicLR(optimizer, 0.1, 0.5, step_size_up=2)
        >>> rates = []
        >>> for epoch in range(6):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.1, 0.3, 0.5, 0.3, 0.1, 0.3]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if scale_fn is None and mode not in _MODES:
            raise ValueError(f"CyclicLR: mode must be one of {_MODES}, got {brief(mode)}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(
                f"CyclicLR: scale_mode must be 'cycle' or 'iterations', got {brief(scale_mode)}"
            )
        step_size_down = step_size_up if step_size_down is None else step_size_down
        if not (step_size_up > 0 and step_size_down >= 0):
            raise ValueError(
                "CyclicLR: step_size_up must be positive and step_size_down not negative, got "
                f"{step_size_up} and {step_size_down}"
            )
        lowest = each_group("CyclicLR", "base_lr", base_lr, optimizer)
        self.max_lrs = each_group("CyclicLR", "max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lowest, strict=True):
                group["lr"] = group["initial_lr"] = rate
        self.total_size = float(step_size_up + step_size_down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = has_betas(optimizer)
            self.base_momentums, self.max_momentums = start_momentum(
                "CyclicLR", optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """The height of a cycle or step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        height: float = 2.0 ** (1 - x) if self.mode == "triangular2" else self.gamma**x
        return height

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        done = 1 + self.last_epoch / self.total_size - cycle
        if done <= self.step_ratio:
            level = done / self.step_ratio
        else:
            level = (done - 1) / (self.step_ratio - 1)
        level *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                low, high = group["base_momentum"], group["max_momentum"]
                set_momentum(group, high - (high - low) * level)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * level for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; a function is left out, a callable object gives its
        state."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        is_object = function is not None and not hasattr(function, "__code__")
        state["_scale_fn_custom"] = dict(function.__dict__) if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        own = state.pop("_scale_fn_custom")
        if own is not None:
            self._scale_fn_custom.__dict__.update(own)
        self.__dict__.update(state)
