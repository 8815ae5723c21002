"""Averages of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.reductions import all_reduce
from flambeau.distributed.world import member

__all__ = [
    "average_parameters",
    "average_parameters_or_parameter_groups",
    "get_params_to_average",
]


def average_parameters(params: Iterator[Tensor], process_group: ProcessGroup | None) -> None:
    """Averages parameters over a group, in place.

    Args:
        params: the same in all processes, of one dtype.
        process_group: None: all processes; a process outside keeps its own.

    Example:
        >>> from flambeau.distributed.algorithms.model_averaging.utils import average_parameters
        >>> weight = flambeau.tensor([1.0 + 2 * flambeau.distributed.get_rank()])
        >>> average_parameters(iter([weight]), None)  # in each of two processes
        >>> weight
        tensor([2.])
    """
    joined = member(process_group)
    if joined is None:
        return
    found = list(params)
    with flambeau.no_grad():
        flat = _flatten_dense_tensors(found)
        all_reduce(flat, group=joined)
        flat /= joined.size()
        for parameter, part in zip(found, _unflatten_dense_tensors(flat, found), strict=True):
            parameter.copy_(part)


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have a gradient.

    Args:
        params: parameters, or groups of an optimizer.

    Raises:
        NotImplementedError: something is neither.

    Example:
        >>> from flambeau.distributed.algorithms.model_averaging.utils import get_params_to_average
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> layer(flambeau.ones(1, 1)).sum().backward()
        >>> len(get_params_to_average(layer.parameters()))
        2
    """
    found: list[Tensor] = []
    for item in params:
        members = item["params"] if isinstance(item, dict) else [item]
        if not all(isinstance(member, Tensor) for member in members):
            raise NotImplementedError(
                f"get_params_to_average(): expected parameters or groups of them, got {type(item)}"
            )
        found += [member for member in members if member.grad is not None]
    return found


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: ProcessGroup | None
) -> None:
    """Averages the parameters that have a gradient.

    Args:
        params: parameters, or groups of an optimizer.
        process_group: None: all processes.

    Example:
        >>> from flambeau.distributed.algorithms.model_averaging import utils
        >>> weight = flambeau.tensor([1.0 + 2 * flambeau.distributed.get_rank()])
        >>> weight.grad = flambeau.zeros(1)
        >>> groups = [{"params": [weight]}]
        >>> utils.average_parameters_or_parameter_groups(groups, None)  # in each of two processes
        >>> weight
        tensor([2.])
    """
    average_parameters(iter(get_params_to_average(params)), process_group)
