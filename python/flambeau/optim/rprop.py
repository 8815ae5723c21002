"""Rprop, of plain tensor operations."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of

__all__ = ["Rprop", "rprop"]


class Rprop(Optimizer):
    """Steps of a size of each element's own, along the signs of gradients (M. Riedmiller, H. Braun,
    RPROP, 1993): it grows while the sign stays, and where the sign changes it shrinks and the
    element rests for a step. For gradients of the whole data set.

    Args:
        params: parameters or groups.
        lr: first size of the steps.
        etas: factors of a size when the sign changed and when it stayed.
        step_sizes: smallest and largest size.
        others: see Optimizer.

    Equations:
        s[t] = sign(g[t] * g[t-1])
        eta[t] = clamp(eta[t-1] * factor(s[t]), step_min, step_max)
        theta[t] = theta[t-1] - eta[t] * sign(g[t])

    factor(s) is etas[1] where s is 1, etas[0] where it is -1 (g[t] then counts as 0), and 1 where
    it is 0.

    factor(s) is etas[1] where s is 1, etas[0] where it is -1 (g[t] then counts as 0), and 1 where
    it is 0.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.Rprop([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options("Rprop", lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Rprop: etas must be within (0, 1) and above 1, got {etas}")
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
                state["prev"] = flambeau.zeros_like(parameter)
                state["step_size"] = flambeau.full_like(parameter, as_number(group["lr"]))
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            sizes = state["step_size"]
            agreement = (gradient * state["prev"]).sign_()
            factors = flambeau.ones_like(sizes)
            factors = factors.masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
            sizes.mul_(factors).clamp_(smallest, largest)
            gradient = gradient.masked_fill(agreement < 0, 0.0)
            parameter.addcmul_(gradient.sign(), sizes, value=-1)
            state["prev"].copy_(gradient)


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """A step of `Rprop`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        prevs, step_sizes, state_steps: "prev", "step_size", "step" of the state of each.
        others: as of `Rprop`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.rprop import rprop
        >>> kept = [flambeau.zeros(1)], [flambeau.tensor([0.1])], [flambeau.tensor(0.0)]
        >>> rprop(
        ...     [weight], [grad], *kept,
        ...     step_size_min=1e-6, step_size_max=50, etaminus=0.5, etaplus=1.2
        ... )
        >>> weight
        tensor([1.9000])
    """
    step_of_lists(
        Rprop,
        params,
        grads,
        {"prev": prevs, "step_size": step_sizes, "step": state_steps},
        differentiable=differentiable,
        etas=(etaminus, etaplus),
        step_sizes=(step_size_min, step_size_max),
        maximize=maximize,
    )
