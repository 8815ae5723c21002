"""`flambeau.amp` for CUDA, under the names that came before it."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`flambeau.amp.autocast("cuda", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: flambeau.dtype = flambeau.float16,
        cache_enabled: bool = True,
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`flambeau.amp.GradScaler("cuda", ...)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)


def custom_fwd(fwd: Any = None, *, cast_inputs: flambeau.dtype | None = None) -> Any:
    """`flambeau.amp.custom_fwd` for CUDA."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """`flambeau.amp.custom_bwd` for CUDA."""
    return amp.custom_bwd(bwd, device_type="cuda")
