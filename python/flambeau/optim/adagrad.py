"""Adagrad."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.optim.gradients import (
    descent,
    with_gradients,
    with_sparse_gradients,
    with_strided_gradients,
    with_values,
)
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of

__all__ = ["Adagrad", "adagrad"]

_step = _C._internal.adagrad_step_list_


class Adagrad(Optimizer):
    """Divides gradients by the root of the sum of all their squares (J. Duchi, E. Hazan, Y. Singer,
    Adaptive Subgradient Methods, 2011).

    Args:
        params: parameters or groups.
        lr: learning rate; step k uses lr / (1 + (k - 1) * lr_decay).
        lr_decay: see lr.
        weight_decay: L2 penalty.
        initial_accumulator_value: where the sums start.
        eps: added to the divisor.
        others: see Optimizer.

    Equations:
        s[t] = s[t-1] + g[t]**2
        theta[t] = theta[t-1] - lr / (1 + (t - 1) * lr_decay) * g[t] / (sqrt(s[t]) + eps)

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1]; s starts at
    initial_accumulator_value.

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1]; s starts at
    initial_accumulator_value.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.Adagrad([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(
            "Adagrad",
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        super().__init__(params, options_of(locals()))

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for parameter in group["params"]:
            self.state[parameter] = {
                "step": flambeau.tensor(0.0, dtype=flambeau.float32),
                "sum": flambeau.full_like(parameter.detach(), group["initial_accumulator_value"]),
            }

    def share_memory(self) -> None:
        """Moves the sums to memory that other processes share."""
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["sum"].share_memory_()

    def _update_sparse(self, group: Group) -> None:
        for parameter, grad in with_sparse_gradients(group):
            state = self.state[parameter]
            state["step"] += 1
            rate = as_number(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
            values = grad.values()
            state["sum"].add_(with_values(grad, values * values))
            root = state["sum"].sparse_mask(grad).values().sqrt() + group["eps"]
            parameter.add_(with_values(grad, values / root), alpha=-rate)

    def _update(self, group: Group) -> None:
        self._update_sparse(group)
        params, grads = with_strided_gradients(group)
        by_step: dict[float, tuple[list[Any], ...]] = {}
        for parameter, grad in zip(params, grads, strict=True):
            state = self.state[parameter]
            state["step"] += 1
            lists = by_step.setdefault(state["step"].item(), ([], [], []))
            for into, tensor in zip(lists, (parameter, grad, state["sum"]), strict=True):
                into.append(tensor)
        for step, lists in by_step.items():
            _step(
                *lists,
                lr=as_number(group["lr"]) / (1 + (step - 1) * group["lr_decay"]),
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                maximize=group["maximize"],
            )

    def _update_recorded(self, group: Group) -> None:
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            rate = as_number(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
            squares = state["sum"].addcmul_(gradient, gradient)
            parameter.addcdiv_(gradient, squares.sqrt() + group["eps"], value=-rate)


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of `Adagrad`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        state_sums, state_steps: "sum", "step" of the state of each.
        grad_scale: what gradients are divided by first.
        found_inf: not 0: nothing happens.
        others: as of `Adagrad`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.adagrad import adagrad
        >>> kept = [flambeau.zeros(1)], [flambeau.tensor(0.0)]
        >>> adagrad(
        ...     [weight], [grad], *kept,
        ...     lr=0.1, weight_decay=0.0, lr_decay=0.0, eps=1e-10, maximize=False
        ... )
        >>> weight
        tensor([1.9000])
    """
    step_of_lists(
        Adagrad,
        params,
        grads,
        {"sum": state_sums, "step": state_steps},
        differentiable=differentiable,
        grad_scale=grad_scale,
        found_inf=found_inf,
        lr=lr,
        lr_decay=lr_decay,
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
    )
