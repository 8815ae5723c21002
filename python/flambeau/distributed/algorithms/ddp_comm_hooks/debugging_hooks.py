"""A hook that sends nothing, for seeing what communication costs."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor
from flambeau.futures import Future
from flambeau.nn.parallel.reducer import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Leaves each process its own gradients."""
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future
