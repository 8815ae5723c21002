"""RMSprop."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of

__all__ = ["RMSprop", "rmsprop"]

_step = _C._internal.rmsprop_step_list_


class RMSprop(Optimizer):
    """Divides gradients by the root of a running mean of their squares (T. Hinton, lecture 6 of
    Neural Networks for Machine Learning, 2012).

    Args:
        params: parameters or groups.
        lr: learning rate.
        alpha: decay of the means.
        eps: added to the divisor.
        weight_decay: L2 penalty.
        momentum: factor of a running direction; 0: none.
        centered: divide by the deviation instead (A. Graves, 2013).
        others: see Optimizer.

    Equations:
        v[t] = alpha * v[t-1] + (1 - alpha) * g[t]**2
        b[t] = momentum * b[t-1] + g[t] / (sqrt(v[t]) + eps)
        theta[t] = theta[t-1] - lr * b[t]

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1]. If centered, the square of
    the running mean of gradients is subtracted from v[t].

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1]. If centered, the square of
    the running mean of gradients is subtracted from v[t].

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.RMSprop([weight], lr=0.01)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(
            "RMSprop", lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
        )
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        params, grads = with_gradients(group)
        if not params:
            return
        lists: tuple[list[Any], ...] = ([], [], [])
        kept = self._state_names(group)
        for parameter in params:
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
            state["step"] += 1
            for into, (name, keep) in zip(lists, kept.items(), strict=True):
                tensor = state.get(name)
                if tensor is None:
                    # What the options do not ask for is scratch of this step.
                    tensor = flambeau.zeros_like(parameter)
                    if keep:
                        state[name] = tensor
                into.append(tensor)
        _step(
            params,
            grads,
            *lists,
            lr=as_number(group["lr"]),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            centered=group["centered"],
            maximize=group["maximize"],
        )

    def _update_recorded(self, group: Group) -> None:
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                for name, keep in self._state_names(group).items():
                    if keep:
                        state[name] = flambeau.zeros_like(parameter)
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            squares = state["square_avg"].mul_(group["alpha"])
            squares.addcmul_(gradient, gradient, value=1 - group["alpha"])
            if group["centered"]:
                mean = state["grad_avg"].lerp_(gradient, 1 - group["alpha"])
                squares = squares - mean * mean
            direction = gradient / (squares.sqrt() + group["eps"])
            if group["momentum"] > 0:
                direction = group["momentum"] * state["momentum_buffer"] + direction
                state["momentum_buffer"] = direction
            parameter.add_(direction, alpha=-as_number(group["lr"]))

    @staticmethod
    def _state_names(group: Group) -> dict[str, bool]:
        """What a group may remember, and whether its options ask for it."""
        return {
            "square_avg": True,
            "grad_avg": group["centered"],
            "momentum_buffer": group["momentum"] > 0,
        }


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """A step of `RMSprop`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        square_avgs, grad_avgs, momentum_buffer_list, state_steps: "square_avg", "grad_avg",
            "momentum_buffer", "step" of the state of each.
        others: as of `RMSprop`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.rmsprop import rmsprop
        >>> kept = [flambeau.zeros(1)], [], [], [flambeau.tensor(0.0)]
        >>> rmsprop(
        ...     [weight], [grad], *kept,
        ...     lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False
        ... )
        >>> weight
        tensor([1.9000])
    """
    step_of_lists(
        RMSprop,
        params,
        grads,
        {
            "square_avg": square_avgs,
            "grad_avg": grad_avgs,
            "momentum_buffer": momentum_buffer_list,
            "step": state_steps,
        },
        differentiable=differentiable,
        lr=lr,
        alpha=alpha,
        eps=eps,
        weight_decay=weight_decay,
        momentum=momentum,
        centered=centered,
        maximize=maximize,
    )
