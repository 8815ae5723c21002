"""Steps along directions on which the loss is searched."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.legacy.optim._common import OpFunc, Options, Result, settings
from flambeau.optim import LBFGS
from flambeau.optim.line_search import Point, strong_wolfe


def lbfgs(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """Iterations of L-BFGS (J. Nocedal, 1980), by `flambeau.optim.LBFGS`; they change `x`.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `maxIter` (20), `maxEval` (5/4 of it), `tolFun` (1e-5), `tolX` (1e-9),
            `nCorrection` (100), `learningRate` (1), `lineSearch` (None or "strong_wolfe").

    Returns:
        `x` and the losses that were seen.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses, *_ = optim.lbfgs(square, flambeau.tensor([2.]), {})
        >>> bool(x.abs().item() < 1e-2)
        True
    """
    defaults = {"maxIter": 20, "maxEval": None, "tolFun": 1e-5, "tolX": 1e-9}
    defaults |= {"nCorrection": 100, "learningRate": 1, "lineSearch": None}
    options, state = settings("lbfgs", config, state, defaults)
    parameter = x.detach().requires_grad_()
    optimizer = LBFGS(
        [parameter],
        lr=options["learningRate"],
        max_iter=options["maxIter"],
        max_eval=options["maxEval"],
        tolerance_grad=options["tolFun"],
        tolerance_change=options["tolX"],
        history_size=options["nCorrection"],
        line_search_fn=options["lineSearch"],
    )
    if "lbfgs" in state:
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state["lbfgs"]})
    losses = []

    def closure() -> Any:
        loss, parameter.grad = opfunc(x)
        parameter.grad = parameter.grad.clone()
        losses.append(loss)
        return loss

    optimizer.step(closure)
    state["lbfgs"] = optimizer.state_dict()["state"]
    return x, losses


def cg(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """Iterations of conjugate gradients (E. Polak, G. Ribière, 1969), each to where the loss on a
    line meets the strong Wolfe conditions; they change `x`.

    Args:
        opfunc, x: as in `sgd`.
        config: `maxIter` (20), `tolGrad` (1e-9), the largest element of a gradient at which
            iterations end.
        state: as in `sgd`; nothing is kept.

    Returns:
        `x` and the losses: at first, and after each iteration.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses, *_ = optim.cg(square, flambeau.tensor([2.]), {})
        >>> bool(x.abs().item() < 1e-2)
        True
    """
    options, _ = settings("cg", config, state, {"maxIter": 20, "tolGrad": 1e-9})
    origin = flambeau.empty_like(x)
    direction = flambeau.zeros_like(x)

    def evaluate(t: float) -> Point:
        flambeau.add(origin, direction, alpha=t, out=x)
        loss, gradient = opfunc(x)
        gradient = gradient.clone()
        return Point(t, float(loss), gradient, (gradient * direction).sum().item())

    origin.copy_(x)
    point = evaluate(0.0)
    losses: list[Any] = [point.loss]
    length = 1 / (1 + point.grad.abs().sum().item())
    direction.copy_(-point.grad)
    for _ in range(options["maxIter"]):
        if point.grad.abs().max().item() <= options["tolGrad"]:
            break
        origin.copy_(x)
        before, largest = point, direction.abs().max().item()
        slope = (before.grad * direction).sum().item()
        start = Point(0.0, before.loss, before.grad, slope)
        point, _ = strong_wolfe(evaluate, start, length, largest, 1e-12)
        flambeau.add(origin, direction, alpha=point.t, out=x)
        if point.t == 0:
            break
        losses.append(point.loss)
        length = _next_direction(direction, before.grad, point, slope)
    return x, losses


def _next_direction(direction: Tensor, before: Tensor, point: Point, slope: float) -> float:
    """Turns the direction, and gives the first distance to try: of about the same decrease."""
    change = (point.grad * (point.grad - before)).sum().item()
    beta = max(change / (before * before).sum().item(), 0.0)
    direction.mul_(beta).sub_(point.grad)
    new_slope = (point.grad * direction).sum().item()
    if new_slope >= 0:  # uphill: begin again
        direction.copy_(-point.grad)
        new_slope = -(point.grad * point.grad).sum().item()
    return min(10.0, slope / new_slope) * point.t
