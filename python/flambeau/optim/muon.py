"""Muon."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.optim.gradients import with_gradients
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of

_MOST_STEPS = 100


class Muon(Optimizer):
    """Momentum whose direction is made an orthogonal matrix, by Newton-Schulz iterations (K. Jordan
    et al., Muon: An optimizer for hidden layers in neural networks, 2024). For matrices only.

    Iterations are of bfloat16.

    Args:
        params: parameters of two dimensions, or groups of these.
        lr: learning rate.
        weight_decay: each step scales parameters by 1 - lr * weight_decay.
        momentum: decay of the mean of gradients.
        nesterov: look ahead along the mean.
        ns_coefficients: a, b, c of an iteration, X := a X + (b A + c A^2) X with A = X X^T.
        eps: least divisor of the direction.
        ns_steps: how many iterations.
        adjust_lr_fn: how the rate follows the shape (rows, columns): "original" or None, by
            sqrt(max(1, rows / columns)); "match_rms_adamw", by 0.2 sqrt(max(rows, columns)) (J. Liu
            et al., Muon is Scalable for LLM Training, 2025).

    Equations:
        B[t] = momentum * B[t-1] + (1 - momentum) * g[t]
        O[t] = orthogonalized((1 - momentum) * g[t] + momentum * B[t])
        theta[t] = (1 - lr * weight_decay) * theta[t-1] - lr * adjust(rows, columns) * O[t]

    Without nesterov O[t] is that of B[t] itself.

    Example:
        >>> weight = flambeau.eye(2).requires_grad_()
        >>> optimizer = flambeau.optim.Muon([weight], lr=0.1, weight_decay=0.)
        >>> (weight * flambeau.tensor([[4., 0.], [0., 1.]])).sum().backward()
        >>> optimizer.step()
        >>> (flambeau.eye(2) - weight.detach()) / 0.1 > 0.5  # both directions count alike
        tensor([[ True, False],
                [False,  True]])
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_options("Muon", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                "Muon: adjust_lr_fn must be None, 'original' or 'match_rms_adamw', got "
                f"{brief(adjust_lr_fn)}"
            )
        super().__init__(params, options_of(locals()))

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for parameter in self.param_groups[-1]["params"]:
            if parameter.dim() != 2:
                raise ValueError(
                    f"Muon: expected matrices, got a parameter of shape {tuple(parameter.shape)}"
                )

    def _update(self, group: Group) -> None:
        lr, momentum = as_number(group["lr"]), group["momentum"]
        for parameter, grad in zip(*with_gradients(group), strict=True):
            if parameter.is_complex():
                raise RuntimeError(
                    f"Muon: expected parameters of real numbers, got {parameter.dtype}"
                )
            state = self.state[parameter]
            if not state:
                state["momentum_buffer"] = flambeau.zeros_like(grad)
            mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            direction = grad.lerp(mean, momentum) if group["nesterov"] else mean
            direction = _orthogonalized(
                direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            parameter.mul_(as_number(1 - group["lr"] * group["weight_decay"]))
            scale = _scale(group["adjust_lr_fn"], *parameter.shape)
            parameter.add_(direction.to(parameter.dtype), alpha=-lr * scale)


def _scale(kind: str | None, rows: int, columns: int) -> float:
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """The orthogonal matrix near a matrix, roughly: its singular values become about 1."""
    if steps >= _MOST_STEPS:
        raise ValueError(f"Muon: ns_steps must be below {_MOST_STEPS}, got {steps}")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: ns_coefficients must be three numbers, got {brief(coefficients)}")
    a, b, c = coefficients
    x = matrix.bfloat16()
    is_tall = x.shape[0] > x.shape[1]
    x = x.t() if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        polynomial = flambeau.addmm(gram, gram, gram, beta=b, alpha=c)
        x = flambeau.addmm(x, polynomial, x, beta=a)
    return x.t() if is_tall else x
