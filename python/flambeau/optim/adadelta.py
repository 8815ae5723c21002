"""Adadelta and Adamax, of plain tensor operations."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_betas, check_options, options_of

__all__ = ["Adadelta", "Adamax", "adadelta", "adamax"]


class Adadelta(Optimizer):
    """Steps as large as recent steps were, relative to recent gradients (M. Zeiler, ADADELTA,
    2012).

    Args:
        params: parameters or groups.
        lr: factor of the step.
        rho: decay of the running means of squares.
        eps: added before the roots.
        weight_decay: L2 penalty.
        others: see Optimizer.

    Equations:
        v[t] = rho * v[t-1] + (1 - rho) * g[t]**2
        d[t] = sqrt(u[t-1] + eps) / sqrt(v[t] + eps) * g[t]
        u[t] = rho * u[t-1] + (1 - rho) * d[t]**2
        theta[t] = theta[t-1] - lr * d[t]

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1]; u and v start at 0.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.Adadelta([weight])
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.9968], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options("Adadelta", lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Adadelta: rho must be within [0, 1], got {rho}")
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                state["square_avg"] = flambeau.zeros_like(parameter)
                state["acc_delta"] = flambeau.zeros_like(parameter)
            state["step"] += 1
            gradient = descent(self, group, parameter, grad)
            squares, steps = state["square_avg"], state["acc_delta"]
            squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
            delta = (steps + eps).sqrt_() / (squares + eps).sqrt_() * gradient
            steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            parameter.add_(delta, alpha=-as_number(group["lr"]))


class Adamax(Optimizer):
    """Adam with the infinity norm (D. Kingma, J. Ba, Adam, 2014, section 7).

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: decay of the mean and of the norm.
        eps: added to the norm.
        weight_decay: L2 penalty.
        others: see Optimizer.

    Equations:
        m[t] = beta1 * m[t-1] + (1 - beta1) * g[t]
        u[t] = max(beta2 * u[t-1], abs(g[t]) + eps)
        theta[t] = theta[t-1] - lr / (1 - beta1**t) * m[t] / u[t]

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1]; m and u start at 0.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.Adamax([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options("Adamax", lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas("Adamax", betas)
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        beta1, beta2 = map(as_number, group["betas"])
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                state["exp_avg"] = flambeau.zeros_like(parameter)
                state["exp_inf"] = flambeau.zeros_like(parameter)
            state["step"] += 1
            gradient = descent(self, group, parameter, grad)
            mean, largest = state["exp_avg"], state["exp_inf"]
            mean.lerp_(gradient, 1 - beta1)
            largest.copy_(flambeau.maximum(largest * beta2, gradient.abs() + group["eps"]))
            correction = 1 - beta1 ** state["step"].item()
            parameter.addcdiv_(mean, largest, value=-as_number(group["lr"]) / correction)


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """A step of `Adadelta`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        square_avgs, acc_deltas, state_steps: "square_avg", "acc_delta", "step" of the state of
            each.
        others: as of `Adadelta`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.adadelta import adadelta
        >>> kept = [flambeau.zeros(1)], [flambeau.zeros(1)], [flambeau.tensor(0.0)]
        >>> adadelta(
        ...     [weight], [grad], *kept,
        ...     lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, maximize=False
        ... )
        >>> weight
        tensor([1.9968])
    """
    step_of_lists(
        Adadelta,
        params,
        grads,
        {"square_avg": square_avgs, "acc_delta": acc_deltas, "step": state_steps},
        differentiable=differentiable,
        lr=lr,
        rho=rho,
        eps=eps,
        weight_decay=weight_decay,
        maximize=maximize,
    )


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """A step of `Adamax`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        exp_avgs, exp_infs, state_steps: "exp_avg", "exp_inf", "step" of the state of each.
        others: as of `Adamax`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.adadelta import adamax
        >>> kept = [flambeau.zeros(1)], [flambeau.zeros(1)], [flambeau.tensor(0.0)]
        >>> adamax(
        ...     [weight], [grad], *kept,
        ...     eps=1e-8, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0
        ... )
        >>> weight
        tensor([1.9000])
    """
    step_of_lists(
        Adamax,
        params,
        grads,
        {"exp_avg": exp_avgs, "exp_inf": exp_infs, "step": state_steps},
        differentiable=differentiable,
        lr=lr,
        betas=(beta1, beta2),
        eps=eps,
        weight_decay=weight_decay,
        maximize=maximize,
    )
