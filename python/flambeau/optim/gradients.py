"""What optimizers go down along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import Tensor
from flambeau.optim.options import as_number

if TYPE_CHECKING:
    from flambeau.optim.optimizer import Optimizer

Group = dict[str, Any]


def with_gradients(group: Group) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of a group that have a gradient, and their gradients.

    Raises:
        RuntimeError: a gradient is sparse.
    """
    params, grads = with_any_gradients(group)
    if any(grad.is_sparse for grad in grads):
        raise RuntimeError(
            "this optimizer takes strided gradients alone, and a gradient is of layout sparse_coo; "
            "SparseAdam, SGD and Adagrad take such"
        )
    return params, grads


def with_any_gradients(group: Group) -> tuple[list[Tensor], list[Tensor]]:
    """The same with gradients of any layout."""
    given = group.get("grads")  # of a step that is given lists
    if given is not None:
        return group["params"], given
    params = [parameter for parameter in group["params"] if parameter.grad is not None]
    return params, [parameter.grad for parameter in params if parameter.grad is not None]


def with_sparse_gradients(group: Group) -> list[tuple[Tensor, Tensor]]:
    """The parameters of a group that have a sparse gradient, with it, coalesced; maximizing turns
    its sign.

    Raises:
        RuntimeError: there is one, and the group has a penalty, whose gradient is dense.
    """
    found = [(p, g) for p, g in zip(*with_any_gradients(group), strict=True) if g.is_sparse]
    if found and group.get("weight_decay"):
        raise RuntimeError("weight_decay must be 0 where a gradient is of layout sparse_coo")
    return [(p, -g.coalesce() if group["maximize"] else g.coalesce()) for p, g in found]


def with_strided_gradients(group: Group) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of a group that have a strided gradient, and their gradients."""
    found = [(p, g) for p, g in zip(*with_any_gradients(group), strict=True) if not g.is_sparse]
    return [p for p, _ in found], [g for _, g in found]


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


def with_values(sparse: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor of the places of a coalesced one, and other values."""
    return flambeau.sparse_coo_tensor(sparse.indices(), values, sparse.shape, is_coalesced=True)
