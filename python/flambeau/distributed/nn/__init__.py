# mypy: implicit-reexport
"""Collective calls that are recorded for backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _lazy
from flambeau.distributed.combining import ReduceOp
from flambeau.distributed.nn import functional
from flambeau.distributed.nn.functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__all__ = [
    "ReduceOp",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "functional",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

if not TYPE_CHECKING:
    __getattr__ = _lazy.unavailable(
        __name__, "processes of a group exchange tensors, and do not call each other's functions"
    )
