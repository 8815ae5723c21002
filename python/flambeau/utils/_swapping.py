"""Exchanging what two tensors are, while what refers to them stays: `utils.swap_tensors`."""

from __future__ import annotations

from flambeau import Tensor, no_grad


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Each of two tensors becomes what the other was: elements, dtype, gradient, class, attributes.
    Whatever refers to one of them, a module or an optimizer, sees the other's content.

    Args:
        t1, t2: leaves, which no operation has made.

    Raises:
        RuntimeError: one is the result of an operation that was recorded.

    Example:
        >>> weight = flambeau.nn.Parameter(flambeau.zeros(2))
        >>> model = flambeau.nn.ParameterList([weight])
        >>> flambeau.utils.swap_tensors(weight, flambeau.nn.Parameter(flambeau.ones(3)))
        >>> model[0] is weight, weight.tolist()
        (True, [1.0, 1.0, 1.0])
    """
    if t1 is t2:
        return
    for tensor in (t1, t2):
        if not tensor.is_leaf:
            raise RuntimeError(
                "swap_tensors(): expected leaves, got the result of an operation, with grad_fn "
                f"{type(tensor.grad_fn).__name__}; detach() it first"
            )
    contents = [(t.data, t.grad, t.requires_grad, type(t), dict(t.__dict__)) for t in (t2, t1)]
    with no_grad():
        for tensor in (t1, t2):  # a gradient must fit its tensor, also between two steps
            tensor.grad = None
            tensor.requires_grad_(False)
        for tensor, (data, grad, requires_grad, kind, attributes) in zip(
            (t1, t2), contents, strict=True
        ):
            tensor.data = data
            tensor.requires_grad_(requires_grad)
            tensor.grad = grad
            tensor.__class__ = kind
            tensor.__dict__.clear()
            tensor.__dict__.update(attributes)
