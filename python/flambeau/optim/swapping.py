"""Steps on other parameters and state than an optimizer's own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor
from flambeau.optim.optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: dict[str, Any],
) -> Iterator[None]:
    """Within it an optimizer has other parameters, options and state; what it had comes back.

    Args:
        optimizer: what steps.
        swapin_parameters: as many parameters as it has, in the order of its groups.
        swapin_optim_state: as of `state_dict()`. Its tensors are changed by steps in place.

    Raises:
        ValueError: the numbers of parameters or groups differ.

    Example:
        >>> weight = flambeau.tensor([2.], requires_grad=True)
        >>> other = flambeau.tensor([5.], requires_grad=True)
        >>> optimizer = flambeau.optim.SGD([weight], lr=0.1)
        >>> state = optimizer.state_dict()
        >>> from flambeau.optim import swap_in_optimizer_params_and_state
        >>> with swap_in_optimizer_params_and_state(optimizer, {"weight": other}, state):
        ...     other.grad = flambeau.tensor([1.])
        ...     optimizer.step()
        >>> other, weight
        (tensor([4.9000], requires_grad=True), tensor([2.], requires_grad=True))
    """
    name = type(optimizer).__name__
    own_groups, own_state = [dict(group) for group in optimizer.param_groups], optimizer.state
    parameters = list(swapin_parameters.values())
    saved = swapin_optim_state["param_groups"]
    wanted = [len(group["params"]) for group in own_groups]
    if len(parameters) != sum(wanted) or [len(group["params"]) for group in saved] != wanted:
        raise ValueError(
            f"swap_in_optimizer_params_and_state: {name} has groups of {wanted} parameters, got "
            f"{len(parameters)} parameters and groups of {[len(g['params']) for g in saved]}"
        )
    state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
    remaining = iter(parameters)
    try:
        for group, other in zip(optimizer.param_groups, saved, strict=True):
            group.update({key: value for key, value in other.items() if key != "params"})
            group["params"] = [next(remaining) for _ in other["params"]]
            for parameter, number in zip(group["params"], other["params"], strict=True):
                state[parameter] = dict(swapin_optim_state["state"].get(number, {}))
        optimizer.state = state
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state
