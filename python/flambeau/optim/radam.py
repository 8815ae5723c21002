"""RAdam, of plain tensor operations."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_betas, check_options, options_of

__all__ = ["RAdam", "radam"]


class RAdam(Optimizer):
    """Adam whose rate is rectified while the mean of squares has seen few of them (L. Liu et al.,
    On the Variance of the Adaptive Learning Rate and Beyond, 2019).

    The first steps, whose variance is not bounded, follow the mean of gradients alone.

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: decay of the means of gradients and of their squares.
        eps: added to the divisor.
        weight_decay: L2 penalty; with decoupled_weight_decay it shrinks parameters themselves.
        decoupled_weight_decay: as AdamW.
        others: see Optimizer.

    Equations:
        m[t] = beta1 * m[t-1] + (1 - beta1) * g[t]
        v[t] = beta2 * v[t-1] + (1 - beta2) * g[t]**2
        m_hat = m[t] / (1 - beta1**t)
        rho_inf = 2 / (1 - beta2) - 1
        rho[t] = rho_inf - 2 * t * beta2**t / (1 - beta2**t)
        a[t] = (rho[t] - 4) * (rho[t] - 2) / rho[t]
        a_inf = (rho_inf - 4) * (rho_inf - 2) / rho_inf
        r[t] = sqrt(a[t] / a_inf)
        theta[t] = theta[t-1] - lr * r[t] * m_hat * sqrt(1 - beta2**t) / (sqrt(v[t]) + eps)

    g[t] is the gradient at theta[t-1]. While rho[t] is at most 5, the step is lr * m_hat.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.RAdam([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options("RAdam", lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas("RAdam", betas)
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        beta1, beta2 = map(as_number, group["betas"])
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                state["exp_avg"] = flambeau.zeros_like(parameter)
                state["exp_avg_sq"] = flambeau.zeros_like(parameter)
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            step = state["step"].item()
            mean, squares = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(gradient, 1 - beta1)
            squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            rate = as_number(group["lr"]) / (1 - beta1**step)
            rectified = _rectification(beta2, step)
            if rectified is None:
                parameter.add_(mean, alpha=-rate)
            else:
                divisor = squares.sqrt() + group["eps"]
                parameter.addcdiv_(mean, divisor, value=-rate * rectified)


def _rectification(beta: float, step: float) -> float | None:
    """sqrt(1 - beta ** step) times the paper's r; None where the variance has no bound.

    `longest` and `length` are those of the simple means that the decaying mean of squares amounts
    to, after all steps and after `step`.
    """
    correction = 1 - beta**step
    longest = 2 / (1 - beta) - 1
    length = longest - 2 * step * beta**step / correction
    if length <= 5:
        return None
    now, last = ((x - 4) * (x - 2) / x for x in (length, longest))
    return math.sqrt(correction * now / last)


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """A step of `RAdam`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        exp_avgs, exp_avg_sqs, state_steps: "exp_avg", "exp_avg_sq", "step" of the state of each.
        others: as of `RAdam`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.radam import radam
        >>> kept = [flambeau.zeros(1)], [flambeau.zeros(1)], [flambeau.tensor(0.0)]
        >>> radam(
        ...     [weight], [grad], *kept,
        ...     beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, eps=1e-8
        ... )
        >>> weight
        tensor([1.6000])
    """
    step_of_lists(
        RAdam,
        params,
        grads,
        {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps},
        differentiable=differentiable,
        lr=lr,
        betas=(beta1, beta2),
        eps=eps,
        weight_decay=weight_decay,
        maximize=maximize,
        decoupled_weight_decay=decoupled_weight_decay,
    )
