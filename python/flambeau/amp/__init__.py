"""Mixed precision: operators compute in bfloat16 or float16 where that is safe, else in float32.

Which operator does what is said by its entry, and on its page of the reference. Weights, gradients
and optimizers stay in float32. In float16, whose range is small, `GradScaler` keeps gradients from
vanishing.
"""

from typing import TYPE_CHECKING

from flambeau import _lazy
from flambeau.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from flambeau.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
