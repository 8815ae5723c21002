"""ASGD, of plain tensor operations."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of

__all__ = ["ASGD", "asgd"]


class ASGD(Optimizer):
    """Gradient descent that also averages the parameters of its steps (B. Polyak, A. Juditsky,
    Acceleration of Stochastic Approximation by Averaging, 1992).

    Step t has the rate lr / (1 + lambd * lr * t) ** alpha. The averages are the entries "ax" of the
    state; the parameters themselves are those of the last step.

    Args:
        params: parameters or groups.
        lr: first learning rate.
        lambd: decay of rates, and of parameters: each step scales them by 1 - lambd * rate.
        alpha: power of the decay of rates.
        t0: the step after which averaging starts.
        weight_decay: L2 penalty.
        others: see Optimizer.

    Equations:
        eta[t] = lr / (1 + lambd * lr * t)**alpha
        theta[t] = (1 - lambd * eta[t-1]) * theta[t-1] - eta[t-1] * g[t]
        ax[t] = ax[t-1] + mu[t-1] * (theta[t] - ax[t-1])
        mu[t] = 1 / max(1, t - t0)

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1].

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.ASGD([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options("ASGD", lr=lr, weight_decay=weight_decay)
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        lr, lambd = as_number(group["lr"]), group["lambd"]
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                state["eta"] = flambeau.tensor(lr, dtype=flambeau.float32)
                state["mu"] = flambeau.tensor(1.0, dtype=flambeau.float32)
                state["ax"] = flambeau.zeros_like(parameter)
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            step, rate = state["step"].item(), state["eta"].item()
            parameter.mul_(1 - lambd * rate).add_(gradient, alpha=-rate)
            state["ax"].lerp_(parameter, state["mu"].item())
            state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
            state["mu"].fill_(1 / max(1, step - group["t0"]))


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """A step of `ASGD`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        axs, mus, etas, state_steps: "ax", "mu", "eta", "step" of the state of each.
        others: as of `ASGD`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.asgd import asgd
        >>> kept = (
        ...     [flambeau.zeros(1)], [flambeau.tensor(1.0)], [flambeau.tensor(0.1)],
        ...     [flambeau.tensor(0.0)],
        ... )
        >>> asgd(
        ...     [weight], [grad], *kept,
        ...     lambd=1e-4, lr=0.1, t0=1e6, alpha=0.75, weight_decay=0.0
        ... )
        >>> weight
        tensor([1.6000])
    """
    step_of_lists(
        ASGD,
        params,
        grads,
        {"ax": axs, "mu": mus, "eta": etas, "step": state_steps},
        differentiable=differentiable,
        lr=lr,
        lambd=lambd,
        t0=t0,
        alpha=alpha,
        weight_decay=weight_decay,
        maximize=maximize,
    )
