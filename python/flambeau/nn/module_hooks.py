"""Hooks of a module: around its calls, its gradients and its state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from flambeau import Tensor
from flambeau.nn import global_hooks
from flambeau.nn.backward_hooks import BackwardWatch
from flambeau.nn.hooks import NO_HOOKS, HookTable, RemovableHandle, own_table

Hook = Callable[..., Any]


class ModuleHooks:
    """The part of Module that has hooks. A table is made when its first hook is registered."""

    _forward_pre_hooks: HookTable = NO_HOOKS
    _forward_hooks: HookTable = NO_HOOKS
    _backward_pre_hooks: HookTable = NO_HOOKS
    _backward_hooks: HookTable = NO_HOOKS
    _is_full_backward_hook: bool | None = None
    _state_dict_pre_hooks: HookTable = NO_HOOKS
    _state_dict_hooks: HookTable = NO_HOOKS
    _load_state_dict_pre_hooks: HookTable = NO_HOOKS
    _load_state_dict_post_hooks: HookTable = NO_HOOKS

    # --- of calls ---

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, inputs)` runs before forward and may return other inputs.

        Args:
            hook: what is called.
            prepend: call it before the hooks that are there.
            with_kwargs: it is `hook(module, inputs, keywords)`, and returns both or None.
        """
        marks = ["kwargs"] * with_kwargs
        return own_table(self, "_forward_pre_hooks").add(hook, *marks, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """`hook(module, inputs, output)` runs after forward and may return another output.

        Args:
            hook: what is called.
            prepend: call it before the hooks that are there.
            with_kwargs: it is `hook(module, inputs, keywords, output)`.
            always_call: call it even where the call fails, with the output None.
        """
        marks = ["kwargs"] * with_kwargs + ["always"] * always_call
        return own_table(self, "_forward_hooks").add(hook, *marks, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)` runs when the gradients of the outputs are known and may
        return others."""
        return own_table(self, "_backward_pre_hooks").add(hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are known
        and may return other gradients of the inputs.

        Raises:
            RuntimeError: beside hooks of `register_backward_hook`.
        """
        self._set_kind_of_backward_hook(full=True)
        return own_table(self, "_backward_hooks").add(hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The former kind: `hook(module, grad_input, grad_output)` sees the last operation of
        forward alone. `register_full_backward_hook` sees the module.

        Raises:
            RuntimeError: beside hooks of `register_full_backward_hook`.
        """
        self._set_kind_of_backward_hook(full=False)
        return own_table(self, "_backward_hooks").add(hook)

    def _set_kind_of_backward_hook(self, full: bool) -> None:
        if self._is_full_backward_hook is not None and self._is_full_backward_hook != full:
            raise RuntimeError(
                f"{type(self).__name__} has hooks of register_backward_hook or of "
                "register_full_backward_hook; expected one kind"
            )
        object.__setattr__(self, "_is_full_backward_hook", full)

    # --- of state ---

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` runs before the state of the module is collected."""
        return own_table(self, "_state_dict_pre_hooks").add(hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` runs after the state of the module was
        collected and may change the dict in place."""
        return own_table(self, "_state_dict_hooks").add(hook, "in place")

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """The former kind of `register_state_dict_post_hook`, which may return another dict."""
        return own_table(self, "_state_dict_hooks").add(hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)` runs before the module takes its part of a state and may change the dict and
        the lists in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Hook, with_module: bool = False
    ) -> RemovableHandle:
        """The former kind of `register_load_state_dict_pre_hook`, which gets no module."""
        return own_table(self, "_load_state_dict_pre_hooks").add(hook, *["module"] * with_module)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(module, incompatible_keys)` runs after the module and all below it were loaded; it
        may change `missing_keys` and `unexpected_keys` in place."""
        return own_table(self, "_load_state_dict_post_hooks").add(hook)


def call(module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a module with hooks: of all modules, then its own."""
    called: set[int] = set()
    try:
        inputs, keywords = _before(module, inputs, keywords)
        watch = _watch(module)
        if watch is not None:
            inputs = watch.inputs(inputs)
        result = module.forward(*inputs, **keywords)
        for table, identifier, hook in _each("forward", module._forward_hooks):
            called.add(identifier)
            changed = _after(table, identifier, hook, module, inputs, keywords, result)
            if changed is not None:
                result = changed
    except Exception:
        _after_failure(module, inputs, keywords, called)
        raise
    _watch_last_operation(module, result)
    return result if watch is None else watch.outputs(result)


def _each(kind: str, own: HookTable | None) -> list[tuple[HookTable, int, Hook]]:
    everywhere = global_hooks.of_kind(kind) if global_hooks.calls else []
    return everywhere + [(own, *item) for item in own.items()] if own else everywhere


def _before(
    module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for table, identifier, hook in _each("forward_pre", module._forward_pre_hooks):
        if not table.is_marked(identifier, "kwargs"):
            changed = hook(module, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
            continue
        changed = hook(module, inputs, keywords)
        if changed is None:
            continue
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"a forward pre-hook of {type(module).__name__} with keywords must return None or "
                f"(inputs, keywords), got {type(changed).__name__}"
            )
        inputs, keywords = changed
    return inputs, keywords


def _after(
    table: HookTable,
    identifier: int,
    hook: Hook,
    module: Any,
    inputs: tuple[Any, ...],
    keywords: dict[str, Any],
    result: Any,
) -> Any:
    if table.is_marked(identifier, "kwargs"):
        return hook(module, inputs, keywords, result)
    return hook(module, inputs, result)


def _after_failure(
    module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any], called: set[int]
) -> None:
    """Hooks that are always called; what they raise must not hide why the call failed."""
    for table, identifier, hook in _each("forward", module._forward_hooks):
        if identifier not in called and table.is_marked(identifier, "always"):
            try:
                _after(table, identifier, hook, module, inputs, keywords, None)
            except Exception as error:
                warnings.warn(
                    f"a forward hook of {type(module).__name__} failed after a failed call: "
                    f"{error!r}",
                    stacklevel=3,
                )


def _watch(module: Any) -> BackwardWatch | None:
    pre = [hook for *_, hook in _each("backward_pre", module._backward_pre_hooks)]
    own = module._backward_hooks if module._is_full_backward_hook else None
    full = [hook for *_, hook in _each("backward", own)]
    return BackwardWatch(module, full, pre) if pre or full else None


def _watch_last_operation(module: Any, result: Any) -> None:
    own = None if module._is_full_backward_hook else module._backward_hooks
    hooks = [hook for *_, hook in _each("grad_fn", own)]
    if not hooks:
        return
    while not isinstance(result, Tensor):
        result = next(iter(result.values())) if isinstance(result, dict) else result[0]
    if result.grad_fn is None:
        return
    for hook in hooks:
        result.grad_fn.register_hook(
            lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output)
        )
