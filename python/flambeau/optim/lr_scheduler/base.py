"""The base class of schedules."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

from flambeau.optim.optimizer import Optimizer


def each_group(who: str, name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value per group: the same for all, or those of a list.

    Raises:
        ValueError: there are more or fewer groups.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{who}: expected {count} values of {name}, got {len(value)}")
    return list(value)


class LRScheduler:
    """Sets the learning rates of an optimizer's groups; `step()` goes on to the next epoch.

    Subclasses define `get_lr()`, the rates of epoch `last_epoch`.

    Args:
        optimizer: its groups get "initial_lr".
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> class Harmonic(flambeau.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate / (1 + self.last_epoch) for rate in self.base_lrs]
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.)
        >>> schedule = Harmonic(optimizer)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(self).__name__}: expected an Optimizer, got {type(optimizer).__name__}"
            )
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: group {i} has no 'initial_lr' to continue from"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        # State that PyTorch saves too; `get_lr` may ask whether `step` calls it.
        self._is_initial = self._get_lr_called_within_step = False
        self._watch_steps()
        self._initial_step()

    def _watch_steps(self) -> None:
        """Notices whether the optimizer has stepped, to warn of the wrong order."""
        self._optimizer_stepped = False
        me = weakref.ref(self)

        def note(*_: Any) -> None:
            schedule = me()
            if schedule is not None:
                schedule._optimizer_stepped = True
                schedule._watching.remove()

        self._watching = self.optimizer.register_step_post_hook(note)

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self._advance()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        """The learning rates of epoch `last_epoch`, one per group."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[float]:
        """The learning rates set last."""
        return self._last_lr

    def step(self, epoch: float | None = None) -> None:
        """Goes on to the next epoch (or to a given one) and sets its rates."""
        if self._step_count == 1 and not self._optimizer_stepped:
            warnings.warn(
                "the schedule steps before optimizer.step() was called, so the first learning rate "
                "is skipped",
                stacklevel=2,
            )
        if epoch is None:
            self._advance()
            return
        self._step_count += 1
        self._enter(epoch)
        self._set(getattr(self, "_get_closed_form_lr", self.get_lr))

    def _advance(self) -> None:
        self._step_count += 1
        self._enter(self.last_epoch + 1)
        self._set(self.get_lr)

    def _enter(self, epoch: Any) -> None:
        self.last_epoch = epoch

    def _set(self, compute: Callable[[], list[float]]) -> None:
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        left_out = ("optimizer", "_watching", "_optimizer_stepped")
        return {key: value for key, value in self.__dict__.items() if key not in left_out}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a state_dict."""
        self.__dict__.update(state_dict)

    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The former name of LRScheduler, for classes that derive from it; arguments as of that.

    Example:
        >>> from flambeau.optim.lr_scheduler import LRScheduler, _LRScheduler
        >>> issubclass(_LRScheduler, LRScheduler)
        True
    """
