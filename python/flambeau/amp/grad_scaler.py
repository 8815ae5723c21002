"""Scaling of losses, so that gradients in float16 do not vanish."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau._C import Tensor

if TYPE_CHECKING:
    from flambeau.optim import Optimizer

__all__ = ["GradScaler"]


class _Stage(Enum):
    """How far an optimizer is in the current iteration."""

    READY = "ready"
    UNSCALED = "unscaled"
    STEPPED = "stepped"


class GradScaler:
    """Multiplies losses by a factor that adapts itself, and gradients by its inverse.

    An iteration calls `scaler.scale(loss).backward()`, `scaler.step(optimizer)` and
    `scaler.update()`. A step whose gradients hold an infinity or a NaN is left out, and the factor
    falls; after `growth_interval` steps without one it rises (P. Micikevicius et al., Mixed
    precision training, 2018).

    Args:
        device: the kind of device that gradients are on.
        init_scale: the factor at first.
        growth_factor: what the factor is multiplied by after `growth_interval` good steps; > 1.
        backoff_factor: what it is multiplied by after a step that was left out; < 1.
        growth_interval: how many good steps in a row let it grow.
        enabled: False makes every method do what would be done without a scaler.

    Raises:
        ValueError: where a factor is out of its range.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.SGD([weight], lr=0.1)
        >>> scaler = flambeau.GradScaler("cpu", init_scale=1024.)
        >>> scaler.scale((weight ** 2).sum()).backward()
        >>> weight.grad  # 1024 times the gradient
        tensor([4096.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> weight
        tensor([1.6000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not flambeau.cuda.is_available():
            warnings.warn("GradScaler(): there is no CUDA device; it stays off", stacklevel=2)
            self._enabled = False
        self._scale = float(init_scale)
        self._growth_tracker = 0
        self.set_growth_factor(growth_factor)
        self.set_backoff_factor(backoff_factor)
        self.set_growth_interval(growth_interval)
        self._stages: dict[int, _Stage] = {}
        self._found_inf: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """Losses, in a tensor or in containers of tensors, multiplied by the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Mapping):
            return {key: self.scale(value) for key, value in outputs.items()}
        if isinstance(outputs, Iterable) and not isinstance(outputs, str):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError(
            "GradScaler.scale(): expected tensors, or lists, tuples and dicts of them, got "
            f"{type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimizer by the factor, to look at them before its step.

        Raises:
            RuntimeError: at a second call before `update`, or after the step.
            ValueError: where a gradient is in float16.
        """
        if not self._enabled:
            return
        stage = self._stage(optimizer)
        if stage is not _Stage.READY:
            done = "unscaled them already" if stage is _Stage.UNSCALED else "stepped already"
            raise RuntimeError(
                f"GradScaler.unscale_(): this optimizer has {done} since the last update()"
            )
        self._found_inf[id(optimizer)] = _unscale(optimizer, 1.0 / self._scale)
        self._stages[id(optimizer)] = _Stage.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, unless a gradient is infinite or NaN; what it returns.

        Raises:
            RuntimeError: with a closure, or at a second call before `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler.step(): a closure cannot be scaled from here")
        if self._stage(optimizer) is _Stage.STEPPED:
            raise RuntimeError(
                "GradScaler.step(): this optimizer has stepped already since the last update()"
            )
        if self._stage(optimizer) is _Stage.READY:
            self.unscale_(optimizer)
        self._stages[id(optimizer)] = _Stage.STEPPED
        if self._found_inf[id(optimizer)]:
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapts the factor after the steps of an iteration, or sets it to `new_scale`.

        Raises:
            RuntimeError: where no gradients were unscaled since the last call.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found_inf:
            raise RuntimeError("GradScaler.update(): no optimizer has stepped since the last one")
        elif any(self._found_inf.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._grow()
        self._stages.clear()
        self._found_inf.clear()

    def _grow(self) -> None:
        self._growth_tracker += 1
        if self._growth_tracker < self._growth_interval:
            return
        self._growth_tracker = 0
        grown = self._scale * self._growth_factor
        if grown < float("inf"):
            self._scale = grown

    def _stage(self, optimizer: Optimizer) -> _Stage:
        return self._stages.get(id(optimizer), _Stage.READY)

    def get_scale(self) -> float:
        """The factor; 1.0 where the scaler is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by when it grows; ValueError unless over 1."""
        if not new_factor > 1.0:
            raise ValueError(f"GradScaler: expected a growth factor over 1, got {new_factor}")
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by when it falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by when it falls; ValueError unless under 1."""
        if not new_factor < 1.0:
            raise ValueError(f"GradScaler: expected a backoff factor under 1, got {new_factor}")
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row let the factor grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets how many good steps in a row let the factor grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What a restart needs; empty where the scaler is off. Call it after `update`."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on from a state. RuntimeError where it is that of a scaler that was off."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict(): the state is empty: its scaler was off"
            )
        self._scale = float(state_dict["scale"])
        self.set_growth_factor(state_dict["growth_factor"])
        self.set_backoff_factor(state_dict["backoff_factor"])
        self.set_growth_interval(state_dict["growth_interval"])
        self._growth_tracker = int(state_dict["_growth_tracker"])


def _unscale(optimizer: Optimizer, inverse: float) -> bool:
    """Multiplies all gradients; whether one of them holds an infinity or a NaN."""
    found = False
    with flambeau.no_grad():
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient.dtype == flambeau.float16:
                    raise ValueError(
                        "GradScaler.unscale_(): a gradient is in float16, which cannot be scaled "
                        "back; keep the parameters in float32"
                    )
                # NaN and infinities show in the largest magnitude: one pass that writes nothing.
                if gradient.numel() > 0:
                    largest = flambeau.linalg.vector_norm(gradient, float("inf"))
                    found = found or not bool(flambeau.isfinite(largest))
                gradient.mul_(inverse)
    return found
