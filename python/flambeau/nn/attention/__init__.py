"""Which kernels attention may use: Flambeau has one, and the choice changes nothing."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

from flambeau._values import brief

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """Kernels of PyTorch's scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """A block for which kernels are named; the one kernel computes the same.

    Raises:
        TypeError: for what is no SDPBackend.
    """
    named = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in named):
        raise TypeError(f"sdpa_kernel(): expected values of SDPBackend, got {brief(backends)}")
    yield
