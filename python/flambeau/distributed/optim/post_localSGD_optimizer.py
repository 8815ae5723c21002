"""An optimizer that averages models after its steps."""

from __future__ import annotations

import warnings
from typing import Any

from flambeau.distributed.algorithms.model_averaging.averagers import ModelAverager
from flambeau.optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Steps of another optimizer, after which an averager averages the parameters.

    Args:
        optim: the optimizer of this process.
        averager: says when, `PeriodicModelAverager` for one.

    Example:
        >>> from flambeau.distributed.algorithms.model_averaging import averagers
        >>> from flambeau.distributed.optim import PostLocalSGDOptimizer
        >>> weight = flambeau.tensor([0.0], requires_grad=True)
        >>> inner = flambeau.optim.SGD([weight], lr=1.0)
        >>> optimizer = PostLocalSGDOptimizer(inner, averagers.PeriodicModelAverager(period=1))
        >>> (weight * (1.0 + 2 * flambeau.distributed.get_rank())).sum().backward()
        >>> optimizer.step()  # in each of two processes
        >>> weight  # the average of -1 and -3
        tensor([-2.], requires_grad=True)
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups, self.defaults = optim.param_groups, optim.defaults

    @property
    def state(self) -> Any:  # type: ignore[override]
        """What the other optimizer remembers."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def step(self, closure: Any = None) -> Any:
        """A step, and the average where it is its turn."""
        result = self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As of the other optimizer."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As of the other optimizer."""
        self.optim.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """That of the other optimizer, with the averager's "step"."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over both; without a "step" the averager begins anew, with a warning."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warnings.warn(
                "PostLocalSGDOptimizer: the state has no 'step', and the averager begins at 0",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)
