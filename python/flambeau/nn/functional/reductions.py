"""The ways in which losses are reduced, for losses that are written in Python."""

from __future__ import annotations

from flambeau import Tensor
from flambeau._values import brief

REDUCTIONS = ("none", "mean", "sum")  # in the order of their numbers in PyTorch


def check_reduction(name: str, reduction: str) -> None:
    """ValueError naming a loss for a reduction that there is not."""
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{name}: reduction must be 'none', 'mean' or 'sum', got {brief(reduction)}"
        )


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses, their mean or their sum."""
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()
