"""States of models and optimizers by the names of parameters, with or without
`DistributedDataParallel` around the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import flambeau
from flambeau import Tensor, distributed, nn
from flambeau.nn.parallel import DataParallel, DistributedDataParallel
from flambeau.optim import Optimizer
from flambeau.utils._pytree import tree_map

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """How states are made and taken over.

    Args:
        full_state_dict: accepted: tensors are whole in each process.
        cpu_offload: whether tensors are copied to the CPU.
        ignore_frozen_params: whether parameters without gradients are left out.
        keep_submodule_prefixes: accepted, True.
        strict: whether all names must be there.
        broadcast_from_rank0: whether the states of process 0 are taken over by all.
        flatten_optimizer_state_dict: accepted, False.

    Raises:
        NotImplementedError: for an option that has another value than is accepted.

    Example:
        >>> from flambeau.distributed.checkpoint.state_dict import StateDictOptions
        >>> StateDictOptions(cpu_offload=True).strict
        True
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False

    def __post_init__(self) -> None:
        if not self.keep_submodule_prefixes or self.flatten_optimizer_state_dict:
            raise NotImplementedError(
                "StateDictOptions: names are those of the whole model, and states of optimizers "
                "are nested: keep_submodule_prefixes=True, flatten_optimizer_state_dict=False"
            )


def _inner(model: nn.Module) -> nn.Module:
    while isinstance(model, DistributedDataParallel | DataParallel):
        model = model.module
    return model


def _names(model: nn.Module) -> dict[int, str]:
    return {id(p): name for name, p in _inner(model).named_parameters()}


def _given(state: Any, options: StateDictOptions) -> Any:
    """A state as options want it to be handed out."""
    if not options.cpu_offload:
        return state
    return tree_map(lambda x: x.cpu() if isinstance(x, Tensor) else x, state)


def _taken(state: Any, options: StateDictOptions) -> Any:
    """A state as options want it to be taken over."""
    if not options.broadcast_from_rank0 or not distributed.is_initialized():
        return state
    objects = [state if distributed.get_rank() == 0 else None]
    distributed.broadcast_object_list(objects)
    return objects[0]


def get_model_state_dict(
    model: nn.Module,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of a model, without the prefix that `DistributedDataParallel` adds.

    Args:
        model: perhaps inside a `DistributedDataParallel`.
        submodules: whose states alone are wanted; None: all.
        options: None: the default ones.

    Example:
        >>> from flambeau.distributed.checkpoint.state_dict import get_model_state_dict
        >>> model = flambeau.nn.parallel.DistributedDataParallel(flambeau.nn.Linear(1, 1))
        >>> list(get_model_state_dict(model))
        ['weight', 'bias']
    """
    options = options or StateDictOptions()
    inner = _inner(model)
    state = dict(inner.state_dict())
    if submodules is not None:
        prefixes = [f"{name}." for name, module in inner.named_modules() if module in submodules]
        state = {n: v for n, v in state.items() if n.startswith(tuple(prefixes))}
    if options.ignore_frozen_params:
        frozen = {name for name, p in inner.named_parameters() if not p.requires_grad}
        state = {n: v for n, v in state.items() if n not in frozen}
    found: dict[str, Any] = _given(state, options)
    return found


def set_model_state_dict(
    model: nn.Module,
    model_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> Any:
    """Takes over what `get_model_state_dict` gave.

    Args:
        model: perhaps inside a `DistributedDataParallel`.
        model_state_dict: the state; with broadcast_from_rank0 that of process 0 counts.
        options: None: the default ones.

    Returns:
        Which names are missing and which are unexpected.

    Example:
        >>> from flambeau.distributed.checkpoint import state_dict
        >>> model = flambeau.nn.Linear(1, 1)
        >>> state_dict.set_model_state_dict(model, state_dict.get_model_state_dict(model))
        <All keys matched successfully>
    """
    options = options or StateDictOptions()
    return _inner(model).load_state_dict(_taken(model_state_dict, options), strict=options.strict)


def _start(optimizer: Optimizer) -> None:
    """Makes the state of an optimizer that has made no step, by one of rate 0 with gradients 0."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = flambeau.zeros_like(parameter)
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = flambeau.zeros(()) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: Optimizers,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The states of optimizers by the names of parameters. An optimizer that has made no step gets
    a state first, so that `load` has what to fill.

    Args:
        model: whose parameters they are.
        optimizers: one or several.
        submodules: whose parameters alone are wanted; None: all.
        options: None: the default ones.

    Example:
        >>> from flambeau.distributed.checkpoint.state_dict import get_optimizer_state_dict
        >>> model = flambeau.nn.Linear(1, 1)
        >>> optimizer = flambeau.optim.Adam(model.parameters())
        >>> list(get_optimizer_state_dict(model, optimizer)["state"]["bias"])
        ['step', 'exp_avg', 'exp_avg_sq']
    """
    options = options or StateDictOptions()
    names = _names(model)
    if submodules is not None:
        wanted = {id(p) for module in submodules for p in module.parameters()}
        names = {key: name for key, name in names.items() if key in wanted}
    state: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _start(optimizer)
        for parameter, kept in optimizer.state.items():
            if id(parameter) in names:
                state["state"][names[id(parameter)]] = dict(kept)
        for group in optimizer.param_groups:
            members = [names[id(p)] for p in group["params"] if id(p) in names]
            state["param_groups"].append({**group, "params": members})
    found: dict[str, Any] = _given(state, options)
    return found


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: Optimizers,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Takes over what `get_optimizer_state_dict` gave.

    Args:
        model: whose parameters they are.
        optimizers: one or several.
        optim_state_dict: the state; with broadcast_from_rank0 that of process 0 counts.
        options: None: the default ones.

    Raises:
        ValueError: a group of the optimizers has no options in the state.

    Example:
        >>> from flambeau.distributed.checkpoint import state_dict
        >>> model = flambeau.nn.Linear(1, 1)
        >>> optimizer = flambeau.optim.SGD(model.parameters(), lr=0.5)
        >>> state = state_dict.get_optimizer_state_dict(model, optimizer)
        >>> other = flambeau.optim.SGD(model.parameters(), lr=0.1)
        >>> state_dict.set_optimizer_state_dict(model, other, state)
        >>> other.param_groups[0]["lr"]
        0.5
    """
    options = options or StateDictOptions()
    state = _taken(optim_state_dict, options)
    names = _names(model)
    saved = {tuple(group["params"]): group for group in state["param_groups"]}
    for optimizer in _listed(optimizers):
        own = optimizer.state_dict()
        numbers: dict[str, int] = {}
        groups = []
        for group, numbered in zip(optimizer.param_groups, own["param_groups"], strict=True):
            members = tuple(names[id(p)] for p in group["params"])
            if members not in saved:
                raise ValueError(
                    "set_optimizer_state_dict(): the state has no group of the parameters "
                    f"{', '.join(members[:3])}{', ...' * (len(members) > 3)}"
                )
            numbers.update(zip(members, numbered["params"], strict=True))
            groups.append({**saved[members], "params": numbered["params"]})
        states = {numbers[n]: kept for n, kept in state["state"].items() if n in numbers}
        optimizer.load_state_dict({"state": states, "param_groups": groups})


def get_state_dict(
    model: nn.Module,
    optimizers: Optimizers,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers.

    Args:
        model, optimizers, submodules, options: as `get_optimizer_state_dict` takes them.

    Example:
        >>> from flambeau.distributed.checkpoint.state_dict import get_state_dict
        >>> model = flambeau.nn.Linear(1, 1)
        >>> _, state = get_state_dict(model, flambeau.optim.SGD(model.parameters()))
        >>> state["param_groups"][0]["params"]
        ['weight', 'bias']
    """
    of_model = get_model_state_dict(model, submodules=submodules, options=options)
    of_optimizers = get_optimizer_state_dict(
        model, optimizers, submodules=submodules, options=options
    )
    return of_model, of_optimizers


def set_state_dict(
    model: nn.Module,
    optimizers: Optimizers,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Takes over what `get_state_dict` gave.

    Args:
        model, optimizers, options: as there.
        model_state_dict, optim_state_dict: the states; empty ones are left alone.

    Returns:
        Which names of the model are missing and which are unexpected.

    Example:
        >>> from flambeau.distributed.checkpoint import state_dict
        >>> model = flambeau.nn.Linear(1, 1)
        >>> optimizer = flambeau.optim.SGD(model.parameters())
        >>> mine, its = state_dict.get_state_dict(model, optimizer)
        >>> state_dict.set_state_dict(
        ...     model, optimizer, model_state_dict=mine, optim_state_dict=its
        ... )
        <All keys matched successfully>
    """
    found = None
    if model_state_dict:
        found = set_model_state_dict(model, model_state_dict, options=options)
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
