"""The scope in which operators choose their precision, and functions that know of it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import flambeau
from flambeau import _C
from flambeau.autograd.grad_mode import ScopedMode

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "is_autocast_enabled"]

F = TypeVar("F", bound=Callable[..., Any])

_LOWER = (_C.bfloat16, _C.float16)


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` can be on for devices of a kind: "cpu", "cuda" or another backend.

    Args:
        device_type: "cpu", for instance.

    Example:
        >>> flambeau.is_autocast_available("cpu")
        True
    """
    return _kind(device_type) != "meta"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for devices of a kind, in this thread.

    Args:
        device_type: "cpu", for instance.

    Example:
        >>> with flambeau.autocast("cpu"):
        ...     flambeau.is_autocast_enabled("cpu")
        True
    """
    return bool(_C._is_autocast_enabled(_kind(device_type)))


def _kind(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(
            "expected the argument 'device_type' to be a string such as \"cpu\", got "
            f"{type(device_type).__name__}"
        )
    return str(flambeau.device(device_type).type)


def _can_run(device_type: str) -> bool:
    return device_type != "cuda" or flambeau.cuda.is_available()


class autocast(ScopedMode):
    """Operators inside take floating-point arguments in the dtype that suits them.

    A context manager, and a decorator of functions. Products and convolutions compute in `dtype`,
    what needs range or accuracy in float32, what joins tensors in the widest dtype among them; the
    page of each operator says which. float64 and integers are left alone, and so are in-place
    variants and `out=`. A weight is converted once in the outermost scope, unless it changes.

    Args:
        device_type: "cpu", "cuda" or another backend: of which tensors.
        dtype: bfloat16 or float16; default: bfloat16, on CUDA float16.
        enabled: False turns autocast off inside another scope.
        cache_enabled: whether converted weights are kept; default: as around the scope.

    Raises:
        RuntimeError: where the device has no autocast, or the dtype is another.

    Example:
        >>> x = flambeau.ones(2, 2)
        >>> with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        ...     product, total = x @ x, x.sum()
        >>> product.dtype, total.dtype
        (flambeau.bfloat16, flambeau.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: flambeau.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _kind(device_type)
        if not is_autocast_available(self.device):
            raise RuntimeError(f"autocast(): there is none for the device type '{self.device}'")
        if dtype is not None and dtype not in _LOWER:
            raise RuntimeError(f"autocast(): expected dtype bfloat16 or float16, got {dtype}")
        self.fast_dtype = _C.get_autocast_dtype(self.device) if dtype is None else dtype
        self._enabled = bool(enabled)
        if self._enabled and not _can_run(self.device):
            warnings.warn("autocast(): there is no CUDA device; autocast stays off", stacklevel=2)
            self._enabled = False
        self._cache_enabled = cache_enabled
        self._before: list[tuple[bool, flambeau.dtype, bool]] = []

    def clone(self) -> autocast:
        return autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled)

    def __enter__(self) -> autocast:  # type: ignore[override]
        kept = _C.is_autocast_cache_enabled()
        self._before.append(
            (_C._is_autocast_enabled(self.device), _C.get_autocast_dtype(self.device), kept)
        )
        _C.set_autocast_enabled(self.device, self._enabled)
        _C.set_autocast_dtype(self.device, self.fast_dtype)
        _C.set_autocast_cache_enabled(kept if self._cache_enabled is None else self._cache_enabled)
        _C.autocast_increment_nesting()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if _C.autocast_decrement_nesting() == 0:
            _C.clear_autocast_cache()
        enabled, dtype, kept = self._before.pop()
        _C.set_autocast_enabled(self.device, enabled)
        _C.set_autocast_dtype(self.device, dtype)
        _C.set_autocast_cache_enabled(kept)


def scope_now(device_type: str) -> autocast:
    """A scope like the one that is open for devices of a kind, on or off."""
    return autocast(
        device_type,
        _C.get_autocast_dtype(device_type),
        is_autocast_enabled(device_type),
        _C.is_autocast_cache_enabled(),
    )


def custom_fwd(
    fwd: F | None = None, *, device_type: str, cast_inputs: flambeau.dtype | None = None
) -> Any:
    """Decorates the `forward` of an `autograd.Function` that is called under autocast.

    Without `cast_inputs`, `forward` runs as autocast is around it, and `custom_bwd` lets
    `backward` run likewise. With it, floating-point tensors among the arguments that are on the
    device are converted first, and autocast is off in both.

    Args:
        fwd: the `forward`, a static method; None: returns a decorator.

    Example:
        >>> class Product(flambeau.autograd.Function):
        ...     @staticmethod
        ...     @flambeau.amp.custom_fwd(device_type="cpu", cast_inputs=flambeau.float32)
        ...     def forward(ctx, x, y):
        ...         return x @ y
        ...     @staticmethod
        ...     @flambeau.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return None, None
        >>> x = flambeau.ones(2, 2, dtype=flambeau.bfloat16)
        >>> with flambeau.autocast("cpu"):
        ...     Product.apply(x, x).dtype
        flambeau.float32
    """
    kind = _kind(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._autocast_dtype = _C.get_autocast_dtype(kind)
        enabled = is_autocast_enabled(kind)
        ctx._autocast_enabled = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(kind, enabled=False):
            return fwd(
                ctx, *converted(args, kind, cast_inputs), **converted(kwargs, kind, cast_inputs)
            )

    return run


def custom_bwd(bwd: F | None = None, *, device_type: str) -> Any:
    """Decorates the `backward` of a function whose `forward` has `custom_fwd`: autocast is then as
    it was in `forward`.

    Args:
        bwd: the `backward`, a static method.

    Example:
        >>> class Doubled(flambeau.autograd.Function):
        ...     @staticmethod
        ...     @flambeau.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @flambeau.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = flambeau.ones(1, requires_grad=True)
        >>> Doubled.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """
    kind = _kind(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(kind, ctx._autocast_dtype, ctx._autocast_enabled):
            return bwd(ctx, *args, **kwargs)

    return run


def converted(value: Any, device_type: str, dtype: flambeau.dtype) -> Any:
    """The value, with floating-point tensors of the device in a dtype, in containers too."""
    if isinstance(value, flambeau.Tensor):
        eligible = value.is_floating_point() and value.dtype != flambeau.float64
        return value.to(dtype) if eligible and value.device.type == device_type else value
    if isinstance(value, Mapping):
        return {
            converted(k, device_type, dtype): converted(v, device_type, dtype)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(converted(v, device_type, dtype) for v in value)
    return value
