# mypy: implicit-reexport
"""Schedules of learning rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _lazy
from flambeau.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from flambeau.optim.lr_scheduler.closed_forms import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from flambeau.optim.lr_scheduler.cyclic import CyclicLR
from flambeau.optim.lr_scheduler.one_cycle import OneCycleLR
from flambeau.optim.lr_scheduler.plateau import ReduceLROnPlateau
from flambeau.optim.lr_scheduler.sequential import ChainedScheduler, SequentialLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
