"""`flambeau.amp` for the CPU, under the names that came before it."""

from __future__ import annotations

import flambeau
from flambeau.amp.of_device import AutocastOfDevice, GradScalerOfDevice

__all__ = ["GradScaler", "autocast"]


class autocast(AutocastOfDevice):
    """`flambeau.amp.autocast("cpu", ...)`.

    Args:
        enabled: False: autocast is off in the block.
        dtype: the lower dtype; None: bfloat16.
        cache_enabled: whether weights that were converted are kept until the end of the block.

    Example:
        >>> from flambeau.cpu.amp import autocast
        >>> with autocast():
        ...     (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype
        flambeau.bfloat16
    """

    kind = "cpu"
    lower = flambeau.bfloat16


class GradScaler(GradScalerOfDevice):
    """`flambeau.amp.GradScaler("cpu", ...)`.

    Example:
        >>> from flambeau.cpu.amp import GradScaler
        >>> GradScaler(enabled=False).is_enabled()
        False
    """

    kind = "cpu"
