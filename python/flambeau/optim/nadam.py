"""NAdam, of plain tensor operations."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_betas, check_options, options_of

__all__ = ["NAdam", "nadam"]


class NAdam(Optimizer):
    """Adam that looks ahead along its mean as Nesterov's momentum does (T. Dozat, Incorporating
    Nesterov Momentum into Adam, 2016).

    The decay of the mean grows: in step t it is betas[0] * (1 - 0.96 ** (t * momentum_decay) / 2).

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: decay of the means of gradients and of their squares.
        eps: added to the divisor.
        weight_decay: L2 penalty; with decoupled_weight_decay it shrinks parameters themselves.
        momentum_decay: how fast the decay of the mean grows.
        decoupled_weight_decay: as AdamW.
        others: see Optimizer.

    Equations:
        mu[t] = beta1 * (1 - 0.96**(t * momentum_decay) / 2)
        m[t] = beta1 * m[t-1] + (1 - beta1) * g[t]
        v[t] = beta2 * v[t-1] + (1 - beta2) * g[t]**2
        P[t] = P[t-1] * mu[t]
        m_hat = mu[t+1] * m[t] / (1 - P[t+1]) + (1 - mu[t]) * g[t] / (1 - P[t])
        v_hat = v[t] / (1 - beta2**t)
        theta[t] = theta[t-1] - lr * m_hat / (sqrt(v_hat) + eps)

    g[t] is the gradient at theta[t-1]; m and v start at 0, P at 1.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.NAdam([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(
            "NAdam", lr=lr, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay
        )
        check_betas("NAdam", betas)
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        beta1, beta2 = map(as_number, group["betas"])
        lr = as_number(group["lr"])
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                state["mu_product"] = flambeau.tensor(1.0, dtype=flambeau.float32)
                state["exp_avg"] = flambeau.zeros_like(parameter)
                state["exp_avg_sq"] = flambeau.zeros_like(parameter)
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            step = state["step"].item()
            now, ahead = (
                beta1 * (1 - 0.96 ** (t * group["momentum_decay"]) / 2) for t in (step, step + 1)
            )
            state["mu_product"] *= now
            product = state["mu_product"].item()
            mean, squares = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(gradient, 1 - beta1)
            squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            divisor = (squares / (1 - beta2**step)).sqrt_() + group["eps"]
            parameter.addcdiv_(gradient, divisor, value=-lr * (1 - now) / (1 - product))
            parameter.addcdiv_(mean, divisor, value=-lr * ahead / (1 - product * ahead))


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """A step of `NAdam`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        exp_avgs, exp_avg_sqs, mu_products, state_steps: "exp_avg", "exp_avg_sq", "mu_product",
            "step" of the state of each.
        others: as of `NAdam`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.nadam import nadam
        >>> kept = (
        ...     [flambeau.zeros(1)], [flambeau.zeros(1)], [flambeau.tensor(1.0)],
        ...     [flambeau.tensor(0.0)],
        ... )
        >>> nadam(
        ...     [weight], [grad], *kept,
        ...     beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, momentum_decay=4e-3, eps=1e-8
        ... )
        >>> weight
        tensor([1.8944])
    """
    step_of_lists(
        NAdam,
        params,
        grads,
        {
            "exp_avg": exp_avgs,
            "exp_avg_sq": exp_avg_sqs,
            "mu_product": mu_products,
            "step": state_steps,
        },
        differentiable=differentiable,
        lr=lr,
        betas=(beta1, beta2),
        eps=eps,
        weight_decay=weight_decay,
        momentum_decay=momentum_decay,
        maximize=maximize,
        decoupled_weight_decay=decoupled_weight_decay,
    )
