"""Momentum that a schedule moves the other way than the rate."""

from __future__ import annotations

from typing import Any

from flambeau.optim.lr_scheduler.base import each_group
from flambeau.optim.optimizer import Optimizer


def start_momentum(
    who: str, optimizer: Optimizer, base_momentum: Any, max_momentum: Any, last_epoch: int
) -> tuple[list[float], list[float]]:
    """Gives each group "base_momentum" and "max_momentum", and the latter as momentum, unless a
    schedule goes on. Returns both, one of each per group.

    Raises:
        ValueError: the optimizer has neither momentum nor betas.
    """
    if not {"momentum", "betas"} & optimizer.defaults.keys():
        raise ValueError(
            f"{who}: {type(optimizer).__name__} has no momentum; pass cycle_momentum=False"
        )
    lowest = each_group(who, "base_momentum", base_momentum, optimizer)
    largest = each_group(who, "max_momentum", max_momentum, optimizer)
    if last_epoch == -1:
        for group, low, high in zip(optimizer.param_groups, lowest, largest, strict=True):
            set_momentum(group, high)
            group["base_momentum"], group["max_momentum"] = low, high
    return lowest, largest


def has_betas(optimizer: Optimizer) -> bool:
    """Whether its momentum is the first of betas."""
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], momentum: float) -> None:
    """Sets momentum, or the first of betas."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum
