"""Limited-memory BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.optim.line_search import Point, strong_wolfe
from flambeau.optim.optimizer import Optimizer, Parameters
from flambeau.optim.options import as_number, check_options, options_of


class LBFGS(Optimizer):
    """Newton's method with an approximation of the Hessian from the last steps (D. Liu, J. Nocedal,
    On the Limited Memory BFGS Method for Large Scale Optimization, 1989).

    A step makes up to max_iter iterations and needs a closure, which it calls for each of them. All
    parameters make one group; their gradients are one vector, of which it keeps 2 history_size.

    Args:
        params: parameters.
        lr: length of a step along the direction, or the first one that the line search tries.
        max_iter: most iterations of a step.
        max_eval: most calls of the closure in a step; None: 1.25 max_iter.
        tolerance_grad: an iteration is the last where no element of the gradient is larger.
        tolerance_change: and where parameters and loss change by less.
        history_size: how many of the last steps count.
        line_search_fn: None, or "strong_wolfe".

    Equations:
        s[k] = theta[k+1] - theta[k]
        y[k] = g[k+1] - g[k]
        theta[k+1] = theta[k] - step * H[k] @ g[k]

    H[k], the approximation of the inverse Hessian, is never formed: two loops over the pairs (s, y)
    give its product with the gradient.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> optimizer = flambeau.optim.LBFGS([weight], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((weight - 1) ** 4).sum()
        ...     loss.backward()
        ...     return loss
        >>> for _ in range(3):
        ...     loss = optimizer.step(closure)
        >>> print(f"{weight.item():.1f}")
        1.0
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_options("LBFGS", lr=lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(
                f"LBFGS: line_search_fn must be None or 'strong_wolfe', got {brief(line_search_fn)}"
            )
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, options_of(locals()))
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS: expected one group, got {len(self.param_groups)}")

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    # --- parameters as a vector ---

    @staticmethod
    def _flat(tensor: Tensor) -> Tensor:
        return (flambeau.view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)

    def _gradient(self) -> Tensor:
        parts = [
            self._flat(flambeau.zeros_like(p) if p.grad is None else p.grad) for p in self._params
        ]
        return flambeau.cat(parts)

    def _move(self, direction: Tensor, t: float) -> None:
        start = 0
        for parameter in self._params:
            real = flambeau.view_as_real(parameter) if parameter.is_complex() else parameter
            part = direction[start : start + real.numel()]
            real.add_(part.view_as(real), alpha=t)
            start += real.numel()

    # --- a step ---

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to max_iter iterations.

        Args:
            closure: computes the loss anew (with gradients) and returns it.

        Returns:
            The loss at the begin.
        """
        if closure is None:
            raise TypeError("LBFGS: step() needs a closure that computes the loss and gradients")
        with flambeau.no_grad():
            return self._iterate(flambeau.enable_grad()(closure))

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._gradient()
        if _largest(grad) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            before = loss
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), before
            rate = group["lr"]
            if state["n_iter"] == 1:
                rate = min(1.0, 1.0 / grad.abs().sum().item()) * rate
            slope = grad.dot(direction).item()
            state["t"], t = rate, as_number(rate)
            if slope > -group["tolerance_change"]:
                break
            is_last = iteration == group["max_iter"]
            start = Point(0.0, loss, grad, slope)
            end, count = self._moved(closure, direction, start, t, is_last)
            loss, grad = end.loss, end.grad
            if group["line_search_fn"] is not None:
                state["t"] = end.t
            evaluations += count
            state["func_evals"] += count
            if (
                is_last
                or evaluations >= group["max_eval"]
                or _largest(grad) <= group["tolerance_grad"]
                or _largest(direction) * abs(end.t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _moved(
        self,
        closure: Callable[[], Any],
        direction: Tensor,
        start: Point,
        t: float,
        is_last: bool,
    ) -> tuple[Point, int]:
        """Moves the parameters. The point where they are, and how often the closure was called."""
        if self.param_groups[0]["line_search_fn"] is None:
            self._move(direction, t)
            if is_last:
                return start._replace(t=t), 0
            return Point(t, float(closure()), self._gradient(), 0.0), 1
        origin = [p.clone() for p in self._params]

        def return_to_origin() -> None:
            for parameter, value in zip(self._params, origin, strict=True):
                parameter.copy_(value)

        def evaluate(distance: float) -> Point:
            self._move(direction, distance)
            loss, grad = float(closure()), self._gradient()
            return_to_origin()
            return Point(distance, loss, grad, grad.dot(direction).item())

        tolerance = self.param_groups[0]["tolerance_change"]
        end, count = strong_wolfe(evaluate, start, t, _largest(direction), tolerance)
        self._move(direction, end.t)
        return end, count

    @staticmethod
    def _direction(state: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
        """-H grad, by the recursion of two loops over the history."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        else:
            change = grad - state["prev_flat_grad"]
            step = state["d"] * state["t"]
            curvature = change.dot(step)
            if curvature.item() > 1e-10:
                for name, value in (
                    *(("old_dirs", change), ("old_stps", step)),
                    ("ro", 1.0 / curvature),
                ):
                    state[name].append(value)
                    del state[name][:-history_size]
                state["H_diag"] = curvature / change.dot(change).item()
        history = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
        direction = -grad
        factors = state["al"] = [None] * history_size
        for i in reversed(range(len(history))):
            change, step, ro = history[i]
            factors[i] = step.dot(direction) * ro
            direction.add_(change, alpha=-factors[i].item())  # rounded once
        direction.mul_(state["H_diag"])
        for (change, step, ro), factor in zip(history, factors, strict=False):
            direction.add_(step, alpha=(factor - change.dot(direction) * ro).item())
        state["d"] = direction
        return direction


def _largest(vector: Tensor) -> float:
    largest: float = vector.abs().max().item()
    return largest
