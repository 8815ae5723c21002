"""Functions with a derivative of their own, of batches."""

from __future__ import annotations

from typing import Any, NamedTuple

from flambeau import Tensor
from flambeau.autograd.function import Function
from flambeau.func._batch_rules import wrapped
from flambeau.func._batched import Level
from flambeau.utils._pytree import tree_flatten, tree_unflatten


def function_applied(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """autograd.Function.apply: by its own `vmap`, or by its forward and backward, of batches."""
    cls = func.__self__
    if cls.vmap is not Function.vmap:
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"{cls.__name__} defines vmap and says generate_vmap_rule; expected one of them"
            )
        return _by_static_rule(level, cls, args, kwargs)
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"vmap(): {cls.__name__} has no rule for batches: define a static method "
            "vmap(info, in_dims, *args), or set generate_vmap_rule = True"
        )
    return _generated(level, cls, args, kwargs)


class VmapInfo(NamedTuple):
    """What `Function.vmap` is told: how many slices there are, and what draws do."""

    batch_size: int
    randomness: str


def _by_static_rule(level: Level, cls: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    leaves, spec = tree_flatten(args)
    dims = tree_unflatten([0 if level.has(x) else None for x in leaves], spec)
    values = tree_unflatten([level.unwrap(x) if level.has(x) else x for x in leaves], spec)
    info = VmapInfo(level.size, level.randomness)
    found = cls.vmap(info, dims, *values, **kwargs)
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(f"{cls.__name__}.vmap must return (output, out_dims)")
    output, out_dims = found
    return _wrapped(level, output, out_dims)


def _wrapped(level: Level, output: Any, dims: Any) -> Any:
    if isinstance(output, Tensor):
        return output if dims is None else level.wrap(output.movedim(dims, 0))
    if isinstance(output, tuple | list):
        each = dims if isinstance(dims, tuple | list) else [dims] * len(output)
        return type(output)(_wrapped(level, o, d) for o, d in zip(output, each, strict=True))
    return output


def _generated(level: Level, cls: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """A function of all slices, whose forward and backward are those of the class, of batches."""
    is_batch = [level.has(a) for a in args]
    values = [level.unwrap(a) if level.has(a) else a for a in args]
    return wrapped(level, _of_batches(level, cls, is_batch).apply(*values, **kwargs))


def _of_batches(level: Level, cls: Any, is_batch: list[bool]) -> Any:
    def inside(values: Any, flags: list[bool]) -> tuple[Level, list[Any]]:
        inner = level.beside()
        return inner, [inner.wrap(v) if b else v for v, b in zip(values, flags, strict=True)]

    class OfBatches(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            inner, slices = inside(values, is_batch)
            ctx.own = own = _Context(ctx.needs_input_grad)
            with inner:
                if cls._has_setup_context():
                    result = cls.forward(*slices)
                    cls.setup_context(own, tuple(slices), result)
                else:
                    result = cls.forward(own, *slices)
            ctx.saved_flags = [inner.has(x) for x in own.to_save]
            ctx.save_for_backward(*(inner.unwrap(x) if inner.has(x) else x for x in own.to_save))
            kept = own.to_save_forward
            ctx.forward_flags = [inner.has(x) for x in kept]
            if kept:
                ctx.save_for_forward(*(inner.unwrap(x) if inner.has(x) else x for x in kept))
            own.to_save = own.to_save_forward = ()
            return _unwrapped(inner, result)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            inner, saved = inside(ctx.saved_tensors, ctx.forward_flags or ctx.saved_flags)
            ctx.own.saved_tensors = tuple(saved)
            pairs = zip(tangents, is_batch, strict=True)
            with inner:
                given = [inner.wrap(t) if b and t is not None else t for t, b in pairs]
                return _unwrapped(inner, cls._jvp(ctx.own, *given))

        @classmethod
        def _has_jvp(cls_of_batches) -> bool:
            return bool(cls._has_jvp())

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            inner, saved = inside(ctx.saved_tensors, ctx.saved_flags)
            ctx.own.saved_tensors = tuple(saved)
            with inner:
                given = [g if g is None else inner.wrap(g) for g in grads]
                found = cls._backward(ctx.own, *given)
            listed = found if isinstance(found, tuple) else (found,)
            return tuple(_for_argument(inner, g, b) for g, b in zip(listed, is_batch, strict=True))

    OfBatches.__name__ = f"{cls.__name__}OfBatches"
    return OfBatches


class _Context:
    """What the forward of a class keeps for its backward."""

    def __init__(self, needs_input_grad: Any) -> None:
        self.needs_input_grad = needs_input_grad
        self.to_save: tuple[Any, ...] = ()
        self.to_save_forward: tuple[Any, ...] = ()
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.to_save_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """RuntimeError: a batch is not written to by the functions of its slices."""
        raise RuntimeError(
            "vmap: a Function with generate_vmap_rule must not call ctx.mark_dirty; "
            "define the static method vmap for it"
        )

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Gradients of what has none are never asked for."""

    def set_materialize_grads(self, value: bool) -> None:
        """Gradients of batches are always there."""


def _unwrapped(level: Level, result: Any) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(_unwrapped(level, item) for item in result)
    return None if result is None else level.unwrap(result)


def _for_argument(level: Level, gradient: Any, is_batch: bool) -> Any:
    """What is the same for all slices has the sum of their gradients."""
    if gradient is None:
        return None
    value = level.unwrap(gradient)
    return value if is_batch else value.sum(0)
