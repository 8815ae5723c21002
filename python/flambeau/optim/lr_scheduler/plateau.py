"""Lowering the rate when a metric stops improving."""

from __future__ import annotations

import math
from typing import Any

from flambeau._values import brief
from flambeau.optim.lr_scheduler.base import LRScheduler
from flambeau.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiplies rates by `factor` after more than `patience` epochs without improvement.

    Args:
        mode: "min": the metric should fall; "max": rise.
        factor: below 1.
        patience: epochs without improvement that are let pass.
        threshold: what counts as an improvement.
        threshold_mode: "rel": by that share of the best; "abs": by that amount.
        cooldown: epochs after a reduction that do not count.
        min_lr: the lowest rate, or one per group.
        eps: smaller changes of a rate are left out.

    Example:
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.)
        >>> schedule = flambeau.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3., 2., 2., 2., 2.):
        ...     schedule.step(loss)
        ...     print(schedule.get_last_lr())
        [1.0]
        [1.0]
        [1.0]
        [0.1]
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode must be 'min' or 'max', got {brief(mode)}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "ReduceLROnPlateau: threshold_mode must be 'rel' or 'abs', got "
                f"{brief(threshold_mode)}"
            )
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.default_min_lr = min_lr if isinstance(min_lr, int | float) else None
        self.min_lrs = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ValueError(f"ReduceLROnPlateau: expected {count} min_lr, got {len(self.min_lrs)}")
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def get_lr(self) -> list[float]:
        return self._rates()

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Notes the metric of an epoch (a number or a tensor of one element)."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                rate = max(group["lr"] * self.factor, lowest)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count yet, after a reduction."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` improves on `best` by more than the threshold."""
        if self.threshold_mode == "rel":
            margin = 1 - self.threshold if self.mode == "min" else 1 + self.threshold
            return a < best * margin if self.mode == "min" else a > best * margin
        return a < best - self.threshold if self.mode == "min" else a > best + self.threshold
