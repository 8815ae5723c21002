"""Hooks around the steps of optimizers: of one, and of all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flambeau.nn.hooks import HookTable, RemovableHandle

Hook = Callable[..., Any]

before_steps = HookTable()
after_steps = HookTable()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs before each step of every optimizer; see
    `Optimizer.register_step_pre_hook`.

    Args:
        hook: returns None, or other (args, kwargs) for the step.

    Returns:
        A handle whose `remove()` takes the hook away.

    Example:
        >>> handle = flambeau.optim.optimizer.register_optimizer_step_pre_hook(
        ...     lambda optimizer, args, kwargs: print("before a step of", type(optimizer).__name__)
        ... )
        >>> flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.).step()
        before a step of SGD
        >>> handle.remove()
    """
    return before_steps.add(hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs after each step of every optimizer; see
    `Optimizer.register_step_post_hook`.

    Args:
        hook: what it returns is not looked at.

    Returns:
        A handle whose `remove()` takes the hook away.

    Example:
        >>> handle = flambeau.optim.optimizer.register_optimizer_step_post_hook(
        ...     lambda optimizer, args, kwargs: print("after a step of", type(optimizer).__name__)
        ... )
        >>> flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.).step()
        after a step of SGD
        >>> handle.remove()
    """
    return after_steps.add(hook)


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step that runs hooks around itself, once where it calls the step of a base class."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if self._is_stepping or not (before or after or before_steps or after_steps):
            return step(self, *args, **kwargs)
        self._is_stepping = True
        try:
            return _run(self, step, (self, *args), kwargs)
        finally:
            self._is_stepping = False

    return hooked


def _run(optimizer: Any, step: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    for hook in [*before_steps.values(), *optimizer._optimizer_step_pre_hooks.values()]:
        changed = hook(optimizer, args, kwargs)
        if changed is None:
            continue
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"a step pre-hook of {type(optimizer).__name__} must return None or (args, "
                f"kwargs), got {type(changed).__name__}"
            )
        args, kwargs = changed
    result = step(*args, **kwargs)
    for hook in [*optimizer._optimizer_step_post_hooks.values(), *after_steps.values()]:
        hook(optimizer, args, kwargs)
    return result
