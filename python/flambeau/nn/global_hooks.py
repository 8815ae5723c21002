"""Hooks that every module calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.nn.hooks import HookTable, RemovableHandle

Hook = Callable[..., Any]

# Hooks of calls are in one table, so that a call looks once whether there are any; marks say their
# kind.
calls = HookTable()
buffer_registration = HookTable()
module_registration = HookTable()
parameter_registration = HookTable()


def of_kind(kind: str) -> list[tuple[HookTable, int, Hook]]:
    """Hooks of calls: the table, the number in it, the hook."""
    return [
        (calls, number, hook) for number, hook in calls.items() if calls.is_marked(number, kind)
    ]


def registered(table: HookTable, module: Any, name: str, value: Any) -> Any:
    """What is registered under a name: the value, or what a hook wants in its place."""
    for hook in list(table.values()):
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """`hook(module, inputs)` runs before the forward of every module; see
    `Module.register_forward_pre_hook`."""
    return calls.add(hook, "forward_pre")


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`hook(module, inputs, output)` runs after the forward of every module; see
    `Module.register_forward_hook`."""
    return calls.add(hook, "forward", *["kwargs"] * with_kwargs, *["always"] * always_call)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """`hook(module, grad_output)` runs before the gradients of every module; see
    `Module.register_full_backward_pre_hook`."""
    return calls.add(hook, "backward_pre")


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` runs at the gradients of every module; see
    `Module.register_full_backward_hook`.

    Raises:
        RuntimeError: beside hooks of `register_module_backward_hook`.
    """
    if of_kind("grad_fn"):
        raise RuntimeError(
            "register_module_full_backward_hook: hooks of register_module_backward_hook are there; "
            "expected one kind of backward hook"
        )
    return calls.add(hook, "backward")


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The former kind, which sees the last operation of a module; see
    `Module.register_backward_hook`.

    Raises:
        RuntimeError: beside hooks of `register_module_full_backward_hook`.
    """
    if of_kind("backward"):
        raise RuntimeError(
            "register_module_backward_hook: hooks of register_module_full_backward_hook are there; "
            "expected one kind of backward hook"
        )
    return calls.add(hook, "grad_fn")


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """`hook(module, name, buffer)` runs at each registration and may return another buffer."""
    return buffer_registration.add(hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """`hook(module, name, submodule)` runs at each registration and may return another one."""
    return module_registration.add(hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """`hook(module, name, parameter)` runs at each registration and may return another one."""
    return parameter_registration.add(hook)
