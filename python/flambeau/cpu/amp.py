"""`flambeau.amp` for the CPU, under the names that came before it."""

from __future__ import annotations

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

    Args:
        init_scale: the first factor.
        growth_factor: by which it grows after steps without infinities.
        backoff_factor: by which it shrinks after one with some.
        growth_interval: how many steps.
        enabled: False: nothing is scaled.

    Example:
        >>> from flambeau.cpu.amp import GradScaler
        >>> GradScaler(enabled=False).is_enabled()
        False
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
