"""Collecting and loading the state of modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import Tensor

if TYPE_CHECKING:
    from flambeau.nn.module import Module

EXTRA_STATE = "_extra_state"


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """(device, dtype) of the arguments of Module.to()."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    unknown = set(kwargs) - {"device", "dtype", "non_blocking"}
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{sorted(unknown)[0]}'")
    for argument in args:
        if isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, flambeau.dtype):
            dtype = argument
        elif isinstance(argument, str | flambeau.device):
            device = flambeau.device(argument)
        elif argument is not None and not isinstance(argument, bool):
            raise TypeError(
                f"to() takes a device, a dtype or a tensor, got {type(argument).__name__}"
            )
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"to() of a module takes a floating or complex dtype, got {dtype}")
    return device, dtype


def collect(
    module: Module, destination: Any, prefix: str, keep_vars: bool
) -> OrderedDict[str, Any]:
    """The state_dict of a module."""
    result: OrderedDict[str, Any] = OrderedDict() if destination is None else destination
    for name, tensor in _own_state(module):
        result[prefix + name] = tensor if keep_vars else tensor.detach()
    if _has_extra_state(module):
        result[prefix + EXTRA_STATE] = module.get_extra_state()
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=result, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    return result


def _own_state(module: Module) -> Iterator[tuple[str, Tensor]]:
    for name, parameter in module._parameters.items():
        if parameter is not None:
            yield name, parameter
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            yield name, buffer


def _has_extra_state(module: Module) -> bool:
    from flambeau.nn.module import Module as Base

    return type(module).get_extra_state is not Base.get_extra_state


def load(
    module: Module, state: Mapping[str, Any], strict: bool, assign: bool
) -> tuple[list[str], list[str]]:
    """Copies (or assigns) tensors; returns missing and unexpected keys."""
    if not isinstance(state, Mapping):
        raise TypeError(f"load_state_dict: expected a mapping, got {type(state).__name__}")
    expected: set[str] = set()
    problems: list[str] = []
    with flambeau.no_grad():
        for path, part in module.named_modules(remove_duplicate=False):
            prefix = f"{path}." if path else ""
            for name, tensor in list(_own_state(part)):
                expected.add(prefix + name)
                if prefix + name in state:
                    _load_one(part, name, tensor, state[prefix + name], assign, prefix, problems)
            if _has_extra_state(part):
                expected.add(prefix + EXTRA_STATE)
                if prefix + EXTRA_STATE in state:
                    part.set_extra_state(state[prefix + EXTRA_STATE])
    missing = sorted(expected - state.keys())
    unexpected = [key for key in state if key not in expected]
    if strict:
        if unexpected:
            problems.insert(0, f"unexpected keys: {', '.join(unexpected)}")
        if missing:
            problems.insert(0, f"missing keys: {', '.join(missing)}")
    if problems:
        listed = "\n  ".join(problems)
        raise RuntimeError(
            f"load_state_dict: the state does not fit {type(module).__name__}:\n  {listed}"
        )
    return missing, unexpected


def _load_one(
    part: Module, name: str, own: Tensor, given: Any, assign: bool, prefix: str, problems: list[str]
) -> None:
    if not isinstance(given, Tensor):
        problems.append(f"{prefix}{name}: expected a Tensor, got {type(given).__name__}")
        return
    if given.shape != own.shape:
        problems.append(f"{prefix}{name}: shape {tuple(given.shape)}, expected {tuple(own.shape)}")
        return
    if not assign:
        own.copy_(given)
        return
    from flambeau.nn.parameter import Parameter

    if name in part._parameters:
        fitting = given if isinstance(given, Parameter) else Parameter(given, own.requires_grad)
        part._parameters[name] = fitting
    else:
        part._buffers[name] = given
