"""Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.optim.gradients import with_any_gradients, with_sparse_gradients, with_values
from flambeau.optim.optimizer import Group, Optimizer, Parameters
from flambeau.optim.options import as_number, check_betas, check_options, options_of


class SparseAdam(Optimizer):
    """Adam in which a step changes only what the gradient lists: the moments of all else stay as
    they are, and do not move the parameter (D. Kingma, J. Ba, Adam, 2015).

    Args:
        params: strided parameters, whose gradients are of layout sparse_coo, or groups.
        lr: learning rate.
        betas: decays of the moments.
        eps: added to the divisor.
        maximize: go up.

    Raises:
        ValueError: if a parameter is sparse or complex, or an option is out of range.

    Equations are those of Adam, of the rows that the gradient lists.

    Example:
        >>> table = flambeau.nn.Embedding(3, 1, sparse=True)
        >>> before = table.weight.detach().clone()
        >>> optimizer = flambeau.optim.SparseAdam(table.parameters(), lr=0.1)
        >>> table(flambeau.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> (table.weight.detach() - before).round(decimals=3)
        tensor([[ 0.0000],
                [-0.1000],
                [ 0.0000]])
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_options("SparseAdam", lr=lr, eps=eps)
        check_betas("SparseAdam", betas)
        super().__init__(params, options_of(locals()))

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        parameters = self.param_groups[-1]["params"]
        if any(parameter.is_sparse for parameter in parameters):
            self.param_groups.pop()
            raise ValueError("SparseAdam: parameters must be strided; one is of layout sparse_coo")
        if any(parameter.is_complex() for parameter in parameters):
            self.param_groups.pop()
            raise ValueError("SparseAdam: parameters must be real; one is complex")

    def _update(self, group: Group) -> None:
        if any(not grad.is_sparse for grad in with_any_gradients(group)[1]):
            raise RuntimeError(
                "SparseAdam: a gradient is strided, and must be of layout sparse_coo; Adam takes "
                "strided ones"
            )
        for parameter, grad in with_sparse_gradients(group):
            if grad._nnz() > 0:
                self._step_one(group, parameter, grad)

    _update_recorded = _update

    def _step_one(self, group: Group, parameter: Tensor, grad: Tensor) -> None:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = flambeau.zeros_like(parameter)
            state["exp_avg_sq"] = flambeau.zeros_like(parameter)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        values = grad.values()
        mean = _moved(state["exp_avg"], grad, values, beta1)
        square = _moved(state["exp_avg_sq"], grad, values * values, beta2)
        step = state["step"]
        rate = as_number(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        change = with_values(grad, mean / (square.sqrt() + group["eps"]))
        parameter.add_(change, alpha=-rate)


def _moved(moment: Tensor, grad: Tensor, values: Tensor, beta: float) -> Tensor:
    """Moves a moment towards values at the places of a gradient; what it is there now."""
    before = moment.sparse_mask(grad).values()
    change = (values - before) * (1 - beta)
    moment.add_(with_values(grad, change))
    return before + change
