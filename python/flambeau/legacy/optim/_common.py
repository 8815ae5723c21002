"""What the functions share: their types, and what happens to a gradient before a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor

# Gives the loss at x and its gradient, shaped as x.
OpFunc = Callable[[Tensor], tuple[Any, Tensor]]
Options = dict[str, Any]
Result = tuple[Tensor, list[Any]]


def settings(
    function: str, config: Options | None, state: Options | None, defaults: Options
) -> tuple[Options, Options]:
    """Options, completed by defaults, and the state, which is kept in the config, under "state", if
    there is no dictionary of its own.

    Raises:
        TypeError: if the config names an option that the function has not.
    """
    config = {} if config is None else config
    options = {name: value for name, value in config.items() if name != "state"}
    for name in options:
        if name not in defaults:
            known = ", ".join(sorted(defaults))
            raise TypeError(f"{function}(): unknown option {name!r}; there are {known}")
    return {**defaults, **options}, config.setdefault("state", {}) if state is None else state


def evaluated(opfunc: OpFunc, x: Tensor, options: Options) -> tuple[Any, Tensor]:
    """The loss, and its gradient with that of `weightDecay / 2 * |x|²`, which may be changed."""
    loss, gradient = opfunc(x)
    return loss, gradient.add(x, alpha=options["weightDecay"])


def decayed(options: Options, evaluations: int) -> float:
    """The learning rate after so many evaluations."""
    return float(options["learningRate"] / (1 + evaluations * options["learningRateDecay"]))
