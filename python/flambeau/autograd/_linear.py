"""Functions inside of `func.jvp`, which is made of two passes backward: there the derivative of
one that defines `jvp` is the transpose of that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import _C, Tensor


class _Thread(threading.local):
    linearizes = False


_thread = _Thread()


def linearizes() -> bool:
    """Whether what this thread computes is linearized by the transformation around it."""
    return _thread.linearizes


@contextmanager
def linearizing(is_on: bool) -> Iterator[None]:
    """A context of a transformation, which linearizes what is computed or does not."""
    before = _thread.linearizes
    _thread.linearizes = is_on
    try:
        yield
    finally:
        _thread.linearizes = before


def by_jvp(cls: Any, args: tuple[Any, ...]) -> Any:
    """A class as the Function, whose backward is the transpose of its `jvp`, for some arguments."""

    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        records = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        try:
            tangents = [_tangent(a, n) for a, n in zip(args, ctx.needs_input_grad, strict=True)]
            pushed = cls._jvp(ctx, *tangents)
            return _transposed(pushed, tangents, grads, records)
        finally:
            _C._set_grad_enabled(records)

    return type(cls)(cls.__name__, (cls,), {"_backward": staticmethod(backward)})


def _tangent(argument: Any, is_needed: bool) -> Tensor | None:
    if not isinstance(argument, Tensor):
        return None
    return flambeau.zeros_like(argument.detach()).requires_grad_(is_needed)


def _transposed(
    pushed: Any, tangents: list[Any], grads: tuple[Any, ...], records: bool
) -> tuple[Tensor | None, ...]:
    """What a linear function, by which tangents were pushed, makes of gradients."""
    results = pushed if isinstance(pushed, tuple | list) else (pushed,)
    pairs = [
        (result, grad)
        for result, grad in zip(results, grads, strict=True)
        if isinstance(result, Tensor) and result.requires_grad and grad is not None
    ]
    wanted = [t for t in tangents if t is not None and t.requires_grad]
    if not pairs or not wanted:
        return (None,) * len(tangents)
    found = iter(
        flambeau.autograd.grad(
            [r for r, _ in pairs],
            wanted,
            [g for _, g in pairs],
            create_graph=records,
            allow_unused=True,
        )
    )
    return tuple(next(found) if t is not None and t.requires_grad else None for t in tangents)
