"""A choice between two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau._values import brief

__all__ = ["cond"]


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """`true_fn(*operands)` where `pred` holds, otherwise `false_fn(*operands)`.

    Args:
        pred: a bool, or a tensor with one element, which the host waits for.
        true_fn, false_fn: called with `operands`; only one of them runs.
        operands: tensors, or what holds tensors.

    Returns:
        What the function returns.

    Raises:
        TypeError: a branch cannot be called.
        RuntimeError: `pred` has more than one element, or none.

    Example:
        >>> x = flambeau.tensor([3., 4.])
        >>> flambeau.cond(x.sum() > 5, lambda x: x / 2, lambda x: x, (x,))
        tensor([1.5000, 2.0000])
    """
    for name, branch in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(branch):
            raise TypeError(f"cond(): {name} must be a function, got {brief(branch)}")
    return true_fn(*operands) if pred else false_fn(*operands)
