"""Seeing the gradients that flow through a module, for register_full_backward_hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function


class BackwardWatch:
    """Around one call of a module: identities at its inputs and outputs note the gradients.

    Args:
        module: what is called.
        hooks: `hook(module, grad_input, grad_output)`; what it returns replaces grad_input.
        pre_hooks: `hook(module, grad_output)`; what it returns replaces grad_output.
    """

    def __init__(
        self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]
    ) -> None:
        self._module = module
        self._hooks = hooks
        self._pre_hooks = pre_hooks
        self._grad_output: tuple[Tensor | None, ...] | None = None
        self._watches_inputs = False
        self._places: list[int] = []
        self._input_count = 0

    def inputs(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs, recorded."""
        self._input_count = len(inputs)
        self._places = [
            i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad
        ]
        if not (self._places and flambeau.is_grad_enabled()):
            return inputs
        self._watches_inputs = True
        watched = _Pass.apply(self._inputs_known, *[inputs[i] for i in self._places])
        result = list(inputs)
        for i, tensor in zip(self._places, watched, strict=True):
            result[i] = tensor
        return tuple(result)

    def outputs(self, result: Any) -> Any:
        """The outputs, recorded: a tensor, or tensors in a tuple, list or dict."""
        found: list[Tensor] = []
        _collect(result, found)
        if not found or not flambeau.is_grad_enabled() or not any(t.requires_grad for t in found):
            return result
        return _replace(result, iter(_Pass.apply(self._outputs_known, *found)))

    def _outputs_known(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in self._pre_hooks:
            grads = self._replaced(grads, hook(self._module, grads), "outputs")
        self._grad_output = grads
        if not self._watches_inputs:
            self._run((None,) * self._input_count)
        return grads

    def _inputs_known(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        all_grads: list[Tensor | None] = [None] * self._input_count
        for i, grad in zip(self._places, grads, strict=True):
            all_grads[i] = grad
        changed = self._run(tuple(all_grads))
        return tuple(changed[i] for i in self._places)

    def _run(self, grad_input: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in self._hooks:
            changed = hook(self._module, grad_input, self._grad_output)
            grad_input = self._replaced(grad_input, changed, "inputs")
        return grad_input

    def _replaced(self, grads: tuple[Any, ...], changed: Any, of: str) -> tuple[Any, ...]:
        """Gradients, or those that a hook returned in their place."""
        if changed is None:
            return grads
        changed = changed if isinstance(changed, tuple) else (changed,)
        if len(changed) != len(grads):
            raise RuntimeError(
                f"a backward hook of {type(self._module).__name__} returned {len(changed)} "
                f"gradients for {len(grads)} {of}"
            )
        return changed


class _Pass(Function):
    """The identity of several tensors; hands the gradients to `seen` when all are known."""

    @staticmethod
    def forward(ctx: Any, seen: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.seen = seen
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        return (None, *ctx.seen(grads))


def _collect(value: Any, into: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        into.append(value)
    elif isinstance(value, tuple | list):
        for item in value:
            _collect(item, into)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, into)


def _replace(value: Any, tensors: Any) -> Any:
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple):
        items = [_replace(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, list):
        return [_replace(item, tensors) for item in value]
    if isinstance(value, dict):
        return {key: _replace(item, tensors) for key, item in value.items()}
    return value
