"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.optim.gradients import (
    descent,
    with_gradients,
    with_sparse_gradients,
    with_strided_gradients,
)
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of

__all__ = ["SGD", "sgd"]

_plain_step = _C._internal.sgd_step_list_
_momentum_step = _C._internal.sgd_momentum_step_list_


class SGD(Optimizer):
    """param -= lr * (grad + weight_decay * param), optionally with momentum.

    The direction is buffer = momentum * buffer + (1 - dampening) * grad (the first gradient itself
    at first), or with nesterov grad + momentum * buffer (I. Sutskever et al., 2013).

    Args:
        params: parameters or groups.
        lr: learning rate.
        momentum, dampening: see above; momentum 0 keeps no buffer.
        weight_decay: L2 penalty.
        nesterov: look ahead; needs momentum and no dampening.
        others: see Optimizer.

    Equations:
        g[t] = gradient(theta[t-1]) + weight_decay * theta[t-1]
        b[t] = momentum * b[t-1] + (1 - dampening) * g[t]
        theta[t] = theta[t-1] - lr * b[t]

    With nesterov the step is along g[t] + momentum * b[t]; b[1] is g[1].

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.SGD([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs momentum > 0 and dampening 0")
        super().__init__(params, options_of(locals()))

    def _update_sparse(self, group: Group) -> None:
        momentum = group["momentum"]
        for parameter, grad in with_sparse_gradients(group):
            direction = grad
            if momentum:
                state = self.state[parameter]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = grad.clone()
                else:
                    buffer = buffer.mul(momentum).add(grad, alpha=1 - group["dampening"])
                state["momentum_buffer"] = buffer
                direction = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            parameter.add_(direction, alpha=-as_number(group["lr"]))

    def _update(self, group: Group) -> None:
        self._update_sparse(group)
        params, grads = with_strided_gradients(group)
        if not params:
            return
        lr = as_number(group["lr"])
        momentum = group["momentum"]
        if momentum == 0:
            _plain_step(
                params,
                grads,
                lr=lr,
                weight_decay=group["weight_decay"],
                maximize=group["maximize"],
            )
            return
        # Parameters that get their first gradient now start their buffer with it.
        fresh: tuple[list[Any], ...] = ([], [], [])
        known: tuple[list[Any], ...] = ([], [], [])
        for parameter, grad in zip(params, grads, strict=True):
            state = self.state[parameter]
            buffer = state.get("momentum_buffer")
            first = buffer is None
            if first:
                buffer = state["momentum_buffer"] = flambeau.zeros_like(parameter)
            for into, tensor in zip(
                fresh if first else known, (parameter, grad, buffer), strict=True
            ):
                into.append(tensor)
        for lists, first in ((fresh, True), (known, False)):
            if lists[0]:
                _momentum_step(
                    *lists,
                    lr=lr,
                    momentum=momentum,
                    dampening=group["dampening"],
                    weight_decay=group["weight_decay"],
                    nesterov=group["nesterov"],
                    maximize=group["maximize"],
                    first=first,
                )

    def _update_recorded(self, group: Group) -> None:
        momentum = group["momentum"]
        for parameter, grad in zip(*with_gradients(group), strict=True):
            direction = descent(self, group, parameter, grad)
            if momentum:
                state = self.state[parameter]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = direction
                else:
                    buffer = momentum * buffer + (1 - group["dampening"]) * direction
                state["momentum_buffer"] = buffer
                direction = direction + momentum * buffer if group["nesterov"] else buffer
            parameter.add_(direction, alpha=-as_number(group["lr"]))


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """A step of `SGD`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, d_p_list: parameters and their gradients.
        momentum_buffer_list: "momentum_buffer" of the state of each, None before its first
            gradient; filled where momentum is not 0.
        grad_scale: what gradients are divided by first.
        found_inf: not 0: nothing happens.
        others: as of `SGD`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.sgd import sgd
        >>> kept = ([None],)
        >>> sgd(
        ...     [weight], [grad], *kept,
        ...     weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False,
        ...     maximize=False
        ... )
        >>> weight
        tensor([1.6000])
    """
    step_of_lists(
        SGD,
        params,
        d_p_list,
        {"momentum_buffer": momentum_buffer_list},
        grad_scale=grad_scale,
        found_inf=found_inf,
        lr=lr,
        momentum=momentum,
        dampening=dampening,
        weight_decay=weight_decay,
        nesterov=nesterov,
        maximize=maximize,
    )
