"""`flambeau.amp` for the CPU, under the names that came before it."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import amp

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """`flambeau.amp.autocast("cpu", ...)`.

    Args:
        enabled: False: autocast is off in the block.
        dtype: the lower dtype.
        cache_enabled: whether weights that were converted are kept until the end of the block.

    Example:
        >>> from flambeau.cpu.amp import autocast
        >>> with autocast():
        ...     (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype
        flambeau.bfloat16
    """

    def __init__(
        self,
        enabled: bool = True,
        dtype: flambeau.dtype = flambeau.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`flambeau.amp.GradScaler("cpu", ...)`.

    Example:
        >>> from flambeau.cpu.amp import GradScaler
        >>> GradScaler(enabled=False).is_enabled()
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cpu", *args, **kwargs)
