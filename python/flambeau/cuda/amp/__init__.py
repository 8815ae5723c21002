"""`flambeau.amp` for CUDA, under the names that came before it."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import amp
from flambeau.amp.of_device import AutocastOfDevice, GradScalerOfDevice

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(AutocastOfDevice):
    """`flambeau.amp.autocast("cuda", ...)`.

    Args:
        enabled: False: autocast is off in the block.
        dtype: the lower dtype; None: float16.
        cache_enabled: whether weights that were converted are kept until the end of the block.

    Example:
        >>> with flambeau.cuda.amp.autocast(enabled=flambeau.cuda.is_available()):
        ...     flambeau.is_autocast_enabled("cuda") == flambeau.cuda.is_available()
        True
    """

    kind = "cuda"
    lower = flambeau.float16


class GradScaler(GradScalerOfDevice):
    """`flambeau.amp.GradScaler("cuda", ...)`.

    Example:
        >>> scaler = flambeau.cuda.amp.GradScaler(enabled=False)
        >>> scaler.scale(flambeau.tensor(2.0))  # disabled: as it is
        tensor(2.)
    """

    kind = "cuda"


def custom_fwd(fwd: Any = None, *, cast_inputs: flambeau.dtype | None = None) -> Any:
    """`flambeau.amp.custom_fwd` for CUDA.

    Args:
        fwd: the `forward` of an `autograd.Function`.
        cast_inputs: None, or the dtype that floating tensors are converted to.

    Example:
        >>> class Double(flambeau.autograd.Function):
        ...     @staticmethod
        ...     @flambeau.cuda.amp.custom_fwd(cast_inputs=flambeau.float32)
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @flambeau.cuda.amp.custom_bwd
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> Double.apply(flambeau.ones(2))
        tensor([2., 2.])
    """
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """`flambeau.amp.custom_bwd` for CUDA.

    Args:
        bwd: the `backward` of an `autograd.Function`.

    Example:
        >>> from flambeau.cuda.amp import custom_bwd, custom_fwd
        >>> class Half(flambeau.autograd.Function):
        ...     forward = staticmethod(custom_fwd(lambda ctx, x: x / 2))
        ...     backward = staticmethod(custom_bwd(lambda ctx, grad: grad / 2))
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> Half.apply(x).sum().backward()
        >>> x.grad
        tensor([0.5000, 0.5000])
    """
    return amp.custom_bwd(bwd, device_type="cuda")
