"""Which kernels attention may use: Flambeau has one, and the choice changes nothing."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

from flambeau._values import brief

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """Kernels of PyTorch's scaled_dot_product_attention.

    Example:
        >>> flambeau.nn.attention.SDPBackend.MATH.name
        'MATH'
    """

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

    Args:
        backends: one or several.
        set_priority: accepted; there is one kernel.

    Raises:
        TypeError: for what is no SDPBackend.

    Example:
        >>> from flambeau.nn.attention import SDPBackend, sdpa_kernel
        >>> q = flambeau.ones(1, 2, 3, 4)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     flambeau.nn.functional.scaled_dot_product_attention(q, q, q).shape
        flambeau.Size([1, 2, 3, 4])
    """
    named = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in named):
        raise TypeError(f"sdpa_kernel(): expected values of SDPBackend, got {brief(backends)}")
    yield
