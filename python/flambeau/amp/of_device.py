"""Mixed precision of one kind of device: what `cpu.amp` and `cuda.amp` share."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau.amp.autocast_mode import autocast
from flambeau.amp.grad_scaler import GradScaler


class AutocastOfDevice(autocast):
    """`autocast` for a device that the class knows, and with the dtype that is usual there."""

    kind: ClassVar[str]
    lower: ClassVar[flambeau.dtype]

    def __init__(
        self, enabled: bool = True, dtype: flambeau.dtype | None = None, cache_enabled: bool = True
    ) -> None:
        super().__init__(self.kind, dtype or self.lower, enabled, cache_enabled)


class GradScalerOfDevice(GradScaler):
    """`GradScaler` for a device that the class knows; arguments after the device as there."""

    kind: ClassVar[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(self.kind, *args, **kwargs)
