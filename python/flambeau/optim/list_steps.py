"""Steps of optimizers as functions of lists: what `optim.adam.adam` and its like share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.optim.optimizer import Optimizer


def step_of_lists(
    kind: type[Optimizer],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    state: dict[str, Any],
    *,
    differentiable: bool = False,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    **options: Any,
) -> None:
    """A step of an optimizer whose state is a list for each name, with an entry for each parameter.

    A list may be empty: the options do not ask for it. What the step does not write in place it
    puts into the lists.

    Raises:
        ValueError: a list has another length than `params`.
    """
    for name, members in {"grads": grads, **state}.items():
        if len(members) != len(params) and (members or name == "grads"):
            function = kind.__name__.lower()
            raise ValueError(
                f"{function}(): expected {len(params)} tensors of {name}, one for each parameter, "
                f"got {len(members)}"
            )
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        grads = [grad / grad_scale for grad in grads]
    lists = {name: members for name, members in state.items() if members}
    optimizer = kind.__new__(kind)
    optimizer.state = defaultdict(dict)
    for i, parameter in enumerate(params):
        optimizer.state[parameter] = {
            name: members[i] for name, members in lists.items() if members[i] is not None
        }
    group = {"params": list(params), "grads": list(grads), **options}
    with flambeau.set_grad_enabled(differentiable):
        (optimizer._update_recorded if differentiable else optimizer._update)(group)
    for i, parameter in enumerate(params):
        for name, members in lists.items():
            members[i] = optimizer.state[parameter].get(name)
