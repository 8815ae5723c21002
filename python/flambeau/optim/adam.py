"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.list_steps import step_of_lists
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_betas, check_options, options_of

__all__ = ["Adam", "AdamW", "adam", "adamw"]

_step = _C._internal.adam_step_list_
_amsgrad_step = _C._internal.adam_amsgrad_step_list_


class Adam(Optimizer):
    """Steps along running means of gradients, divided by the root of running means of their squares
    (D. Kingma, J. Ba, Adam, 2014).

    Args:
        params: parameters or groups.
        lr: learning rate.
        betas: decay of the two means.
        eps: added to the divisor.
        weight_decay: L2 penalty; with decoupled_weight_decay it shrinks parameters themselves.
        amsgrad: divide by the largest mean of squares so far (S. Reddi et al., 2018).
        decoupled_weight_decay: as AdamW.
        others: see Optimizer.

    Equations:
        m[t] = beta1 * m[t-1] + (1 - beta1) * g[t]
        v[t] = beta2 * v[t-1] + (1 - beta2) * g[t]**2
        m_hat = m[t] / (1 - beta1**t)
        v_hat = v[t] / (1 - beta2**t)
        theta[t] = theta[t-1] - lr * m_hat / (sqrt(v_hat) + eps)

    g[t] is the gradient at theta[t-1], plus weight_decay * theta[t-1] unless the decay is
    decoupled; m and v start at 0.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.Adam([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_options(type(self).__name__, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(type(self).__name__, betas)
        if len({isinstance(beta, Tensor) for beta in betas}) > 1:
            raise ValueError(
                f"{type(self).__name__}: betas must be two numbers or two tensors, got {betas}"
            )
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        params, grads = with_gradients(group)
        if not params:
            return
        amsgrad = group["amsgrad"]
        names = self._state_names(group)
        # One launch per step count: parameters that joined late have their own bias correction.
        by_step: dict[float, tuple[list[Any], ...]] = {}
        states = self.state
        for parameter, grad in zip(params, grads, strict=True):
            state = states[parameter]
            if not state:
                self._start(state, parameter, names)
            count = state["step"]
            count += 1
            lists = by_step.get(number := count.item())
            if lists is None:
                lists = by_step[number] = tuple([] for _ in range(2 + len(names)))
            lists[0].append(parameter)
            lists[1].append(grad)
            for i, name in enumerate(names, start=2):
                lists[i].append(state[name])
        beta1, beta2 = map(as_number, group["betas"])
        function = _amsgrad_step if amsgrad else _step
        for step, lists in by_step.items():
            function(
                *lists,
                lr=as_number(group["lr"]),
                beta1=beta1,
                beta2=beta2,
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                decoupled=group["decoupled_weight_decay"],
                bias_correction1=1 - beta1**step,
                bias_correction2=1 - beta2**step,
                maximize=group["maximize"],
            )

    def _update_recorded(self, group: Group) -> None:
        beta1, beta2 = map(as_number, group["betas"])
        names = self._state_names(group)
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                self._start(state, parameter, names)
            gradient = descent(self, group, parameter, grad)
            state["step"] += 1
            step = state["step"].item()
            mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
            squares = state["exp_avg_sq"].mul_(beta2)
            squares.addcmul_(gradient, gradient, value=1 - beta2)
            if group["amsgrad"]:
                squares = flambeau.maximum(state["max_exp_avg_sq"], squares)
                state["max_exp_avg_sq"] = squares
            divisor = (squares / (1 - beta2**step)).sqrt() + group["eps"]
            rate = as_number(group["lr"]) / (1 - beta1**step)
            parameter.addcdiv_(mean, divisor, value=-rate)

    @staticmethod
    def _state_names(group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * bool(group["amsgrad"]))

    @staticmethod
    def _start(state: dict[str, Any], parameter: Tensor, names: tuple[str, ...]) -> None:
        state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
        for name in names:
            state[name] = flambeau.zeros_like(parameter)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves.

    Arguments are those of Adam.

    Equations:
        theta[t] = (1 - lr * weight_decay) * theta[t-1] - lr * m_hat / (sqrt(v_hat) + eps)

    m_hat and v_hat are those of Adam.

    Source: I. Loshchilov, F. Hutter, Decoupled Weight Decay Regularization, 2017.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.AdamW([weight], lr=0.1, weight_decay=0.5)
        >>> (weight ** 2).sum().backward()
        >>> optimizer.step()
        >>> weight  # 2 * (1 - 0.05) - 0.1
        tensor([1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of `Adam`, of lists: parameters and what is kept of them are changed in place.

    Args:
        params, grads: parameters and their gradients.
        exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps: "exp_avg", "exp_avg_sq",
            "max_exp_avg_sq", "step" of the state of each.
        grad_scale: what gradients are divided by first.
        found_inf: not 0: nothing happens.
        others: as of `Adam`; of those that choose an implementation, none changes anything.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.adam import adam
        >>> kept = [flambeau.zeros(1)], [flambeau.zeros(1)], [], [flambeau.tensor(0.0)]
        >>> adam(
        ...     [weight], [grad], *kept,
        ...     amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.0, eps=1e-8,
        ...     maximize=False
        ... )
        >>> weight
        tensor([1.9000])
    """
    step_of_lists(
        AdamW if decoupled_weight_decay else Adam,
        params,
        grads,
        {
            "exp_avg": exp_avgs,
            "exp_avg_sq": exp_avg_sqs,
            "max_exp_avg_sq": max_exp_avg_sqs,
            "step": state_steps,
        },
        differentiable=differentiable,
        grad_scale=grad_scale,
        found_inf=found_inf,
        lr=lr,
        betas=(beta1, beta2),
        eps=eps,
        weight_decay=weight_decay,
        amsgrad=amsgrad,
        maximize=maximize,
        decoupled_weight_decay=decoupled_weight_decay,
    )


def adamw(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of `AdamW`, of lists: what `adam` does with `decoupled_weight_decay`.

    Args:
        others: as of `adam`.

    Example:
        >>> weight, grad = flambeau.tensor([2.0]), flambeau.tensor([4.0])
        >>> from flambeau.optim.adamw import adamw
        >>> kept = [flambeau.zeros(1)], [flambeau.zeros(1)], [], [flambeau.tensor(0.0)]
        >>> adamw(
        ...     [weight], [grad], *kept,
        ...     amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.5, eps=1e-8,
        ...     maximize=False
        ... )
        >>> weight
        tensor([1.8000])
    """
    adam(**locals(), decoupled_weight_decay=True)
