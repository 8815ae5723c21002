"""Adadelta and Adamax, of plain tensor operations."""

from __future__ import annotations

import flambeau
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_betas, check_options, options_of


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
