"""Adafactor, of plain tensor operations."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import descent, with_gradients
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of


class Adafactor(Optimizer):
    """Divides gradients by the root of means of squares that matrices keep as one row and one
    column (N. Shazeer, M. Stern, Adafactor, 2018).

    Steps are relative to the size of the parameters and limited in their root mean square.

    Args:
        params: parameters or groups.
        lr: largest relative rate; step t has min(lr, 1 / sqrt(t)).
        beta2_decay: step t counts t ** beta2_decay in the means of squares.
        eps: smallest root of the means of squares (None: the dtype's epsilon), smallest root mean
            square that a parameter counts as.
        d: largest root mean square of the divided gradients; larger ones are scaled down.
        weight_decay: each step scales parameters by 1 - lr * weight_decay.
        others: see Optimizer.

    Equations:
        beta2[t] = 1 - t**beta2_decay
        R[t] = beta2[t] * R[t-1] + (1 - beta2[t]) * mean_over_columns(g[t]**2)
        C[t] = beta2[t] * C[t-1] + (1 - beta2[t]) * mean_over_rows(g[t]**2)
        V = R[t] @ C[t].T / mean(R[t])
        u = g[t] / sqrt(V)
        rate = max(eps2, rms(theta[t-1])) * min(lr, 1 / sqrt(t))
        theta[t] = (1 - lr * weight_decay) * theta[t-1] - rate * u / max(1, rms(u) / d)

    g[t] is the gradient at theta[t-1]; rms is the root mean square. Vectors keep the mean of
    squares of each element.

    g[t] is the gradient at theta[t-1]; rms is the root mean square. Vectors keep the mean of
    squares of each element.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.Adafactor([weight], lr=0.1)
        >>> (weight ** 2).sum().backward()  # the gradient is 4
        >>> optimizer.step()
        >>> weight
        tensor([1.8000], requires_grad=True)
    """

    _decouples_weight_decay = True

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_options("Adafactor", lr=lr, weight_decay=weight_decay)
        check_options("Adafactor", **{"eps[0]": eps[0] or 0.0, "eps[1]": eps[1]})
        if not beta2_decay <= 0:
            raise ValueError(f"Adafactor: beta2_decay must not be positive, got {beta2_decay}")
        if not d >= 1:
            raise ValueError(f"Adafactor: d must be at least 1, got {d}")
        super().__init__(params, options_of(locals()))

    def _update(self, group: Group) -> None:
        lr = as_number(group["lr"])
        for parameter, grad in zip(*with_gradients(group), strict=True):
            state = self.state[parameter]
            if not state:
                self._start(state, parameter)
            state["step"] += 1
            step = state["step"].item()
            eps, least = group["eps"]
            if eps is None:
                eps = flambeau.finfo(parameter.dtype).eps
            rate = min(lr, 1 / math.sqrt(step)) * max(least, _size(parameter))
            gradient = descent(self, group, parameter, grad)
            squares = _mean_squares(state, gradient, step ** group["beta2_decay"], eps)
            change = squares.clamp_(min=eps * eps).rsqrt_().mul_(gradient)
            parameter.add_(change, alpha=-rate / max(1.0, _size(change) / group["d"]))

    @staticmethod
    def _start(state: dict[str, Tensor], parameter: Tensor) -> None:
        state["step"] = flambeau.tensor(0.0, dtype=flambeau.float32)
        if parameter.dim() > 1:
            shape = list(parameter.shape)
            state["row_var"] = parameter.new_zeros([*shape[:-1], 1])
            state["col_var"] = parameter.new_zeros([*shape[:-2], 1, shape[-1]])
        else:
            state["variance"] = flambeau.zeros_like(parameter)


def _size(tensor: Tensor) -> float:
    """The root of the mean of squares."""
    size: float = tensor.norm(2).item() / math.sqrt(max(1, tensor.numel()))
    return size


def _mean_squares(state: dict[str, Tensor], gradient: Tensor, weight: float, eps: float) -> Tensor:
    """Means of squares, with a new gradient of some weight; of matrices the product of row and
    column means, divided by the mean of all."""
    squares = gradient.square()
    if gradient.dim() <= 1:
        return state["variance"].lerp_(squares, weight).clone()
    rows = state["row_var"].lerp_(squares.mean(-1, keepdim=True), weight)
    columns = state["col_var"].lerp_(squares.mean(-2, keepdim=True), weight)
    return (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=eps))
