"""RMSprop."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C
from flambeau.optim.optimizer import (
    Group,
    Optimizer,
    Parameters,
    as_number,
    check_options,
    check_unsupported,
    with_gradients,
)

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
        maximize: ascend.
        foreach: accepted as PyTorch has it.
        capturable, differentiable: must be False.
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
        check_unsupported("RMSprop", capturable=capturable, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _update(self, group: Group) -> None:
        params, grads = with_gradients(group)
        if not params:
            return
        lists: tuple[list[Any], ...] = ([], [], [])
        kept = {
            "square_avg": True,
            "grad_avg": group["centered"],
            "momentum_buffer": group["momentum"] > 0,
        }
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
