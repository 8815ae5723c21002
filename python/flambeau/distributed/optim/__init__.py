"""Optimizers of models that several processes train."""

from __future__ import annotations

from flambeau import _lazy
from flambeau.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from flambeau.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = _lazy.unavailable(
    __name__,
    "of optimizers for several processes there are PostLocalSGDOptimizer and "
    "ZeroRedundancyOptimizer",
)
