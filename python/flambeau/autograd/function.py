"""Operators defined in Python: forward, backward, and what passes between them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from flambeau import _C
from flambeau.autograd import _linear

FunctionCtx = _C._autograd.FunctionCtx


class Function:
    """Base of operators whose derivative is written by hand.

    A subclass defines static methods: ``forward(ctx, *args)`` and ``backward(ctx, *grads)``; or
    ``forward(*args)`` and ``setup_context(ctx, inputs, output)``. backward returns one gradient
    (or None) for each argument of forward. ``jvp(ctx, *tangents)`` adds forward mode.

    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> Square.apply(flambeau.tensor(3.0))
    tensor(9.)
    """

    _context = FunctionCtx
    # What `ctx` can do, under the name that annotations give it: `ctx: Function`.
    save_for_backward = FunctionCtx.save_for_backward
    save_for_forward = FunctionCtx.save_for_forward
    mark_dirty = FunctionCtx.mark_dirty
    mark_non_differentiable = FunctionCtx.mark_non_differentiable
    set_materialize_grads = FunctionCtx.set_materialize_grads

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the result; nothing inside is recorded."""
        raise NotImplementedError("an autograd.Function must define forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps in `ctx` what backward needs, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not defined")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the arguments of forward, given those of its results."""
        raise NotImplementedError("an autograd.Function must define backward to be differentiated")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the results of forward, given those of its arguments.

        An argument that is no tensor has None, and one without a tangent zeros, or None after
        `ctx.set_materialize_grads(False)`. `ctx.saved_tensors` is what `save_for_forward` kept, or
        where there is none, `save_for_backward`. `func.jvp` and what is made of it take it rather
        than the derivative of backward.
        """
        raise NotImplementedError(
            "an autograd.Function must define jvp to be differentiated in forward mode"
        )

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Computes the function for all slices of a `flambeau.vmap`.

        Args:
            info: has `batch_size`, and `randomness` as it was given to vmap.
            in_dims: for each argument the dim that counts slices; None where there is none.
            args: the arguments of forward.

        Returns:
            (output, out_dims). Where it is not defined, `generate_vmap_rule = True` computes
            forward and backward of all slices at once.
        """
        raise NotImplementedError("vmap is not defined")

    @classmethod
    def _backward(cls, ctx: Any, *grad_outputs: Any) -> Any:
        backward_defined = cls.backward is not Function.backward
        vjp_defined = cls.vjp is not Function.vjp
        if backward_defined and vjp_defined:
            raise RuntimeError(f"{cls.__name__} defines both backward and vjp, which are the same")
        return (cls.vjp if vjp_defined else cls.backward)(ctx, *grad_outputs)

    @classmethod
    def _jvp(cls, ctx: Any, *grad_inputs: Any) -> Any:
        ctx._in_jvp = True
        try:
            return cls.jvp(ctx, *grad_inputs)
        finally:
            ctx._in_jvp = False

    @classmethod
    def _has_jvp(cls) -> bool:
        return cls.jvp is not Function.jvp

    @classmethod
    def _has_setup_context(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward on the arguments and records the call."""
        if _C._overrides.has_torch_function(args):
            batched = _C._overrides.overriders(args)
            if _C._overrides.modes() or any(hasattr(x, "batch_level") for x in batched):
                return _C._overrides.handle_torch_function(cls.apply, args, args, kwargs)
        if kwargs:
            if not cls._has_setup_context():
                raise TypeError(
                    f"{cls.__name__}.apply() takes keyword arguments only when setup_context is "
                    f"defined, got {sorted(kwargs)}"
                )
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        if _linear.linearizes() and cls._has_jvp():
            cls = _linear.by_jvp(cls, args)
        return _C._autograd.apply_function(cls, args)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} is not instantiated: call {type(self).__name__}.apply(...)"
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a backward that is itself not differentiable: differentiating it raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            _C._set_grad_enabled(recording)
        if not recording:
            return outputs
        # Gradients of gradients would silently miss this operator's part.
        message = "a backward marked with once_differentiable cannot be differentiated again"
        items = outputs if isinstance(outputs, tuple) else (outputs,)
        refused = tuple(
            _C._autograd.refuse_gradient(item, message) if isinstance(item, _C.Tensor) else item
            for item in items
        )
        return refused if isinstance(outputs, tuple) else refused[0]

    return wrapper


class InplaceFunction(Function):
    """A Function that former programs derive theirs from; `mark_dirty` says what is written.

    Args:
        inplace: what `self.inplace` says; nothing reads it but the subclass.

    Example:
        >>> from flambeau.autograd.function import InplaceFunction
        >>> issubclass(InplaceFunction, flambeau.autograd.Function)
        True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
