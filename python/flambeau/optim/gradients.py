"""What optimizers go down along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flambeau import Tensor
from flambeau.optim.options import as_number

if TYPE_CHECKING:
    from flambeau.optim.optimizer import Optimizer

Group = dict[str, Any]


def with_gradients(group: Group) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of a group that have a gradient, and their gradients."""
    params: list[Tensor] = []
    grads: list[Tensor] = []
    for parameter in group["params"]:
        grad = parameter.grad
        if grad is not None:
            params.append(parameter)
            grads.append(grad)
    return params, grads


def descent(optimizer: Optimizer, group: Group, parameter: Tensor, grad: Tensor) -> Tensor:
    """The gradient to go down along: of what is minimized, with the L2 penalty. Decay of weights
    that is none of the gradient's is done here, too.

    Raises:
        RuntimeError: the parameter is complex.
    """
    if parameter.is_complex():
        name = type(optimizer).__name__
        raise RuntimeError(f"{name}: expected parameters of real numbers, got {parameter.dtype}")
    decay = group.get("weight_decay")
    gradient = -grad if group["maximize"] else grad
    if not decay:
        return gradient
    if group.get("decoupled_weight_decay", optimizer._decouples_weight_decay):
        parameter.mul_(1 - as_number(group["lr"]) * decay)
        return gradient
    return gradient + decay * parameter
