"""Collecting and loading the state of modules."""

from __future__ import annotations

import difflib
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from flambeau.nn.module import Module

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict(strict=False)` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys({', '.join(f'{k}={v!r}' for k, v in self._asdict().items())})"


# --- collecting ---


def collect(
    module: Module, destination: Any, prefix: str, keep_vars: bool
) -> OrderedDict[str, Any]:
    """The state_dict of a module. Its attribute `_metadata` has the version of each module."""
    result: Any = OrderedDict() if destination is None else destination
    if destination is None:
        result._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(result, "_metadata"):
        result._metadata[prefix[:-1]] = metadata
    for hook in list((module._state_dict_pre_hooks or {}).values()):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(result, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=result, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    hooks = module._state_dict_hooks
    for number, hook in list((hooks or {}).items()):
        changed = hook(module, result, prefix, metadata)
        if changed is None:
            continue
        if hooks is not None and hooks.is_marked(number, "in place"):
            raise RuntimeError(
                f"state_dict: a post-hook of {type(module).__name__} must return None, got "
                f"{type(changed).__name__}"
            )
        result = changed
    return result


def save_own(module: Module, destination: Any, prefix: str, keep_vars: bool) -> None:
    """Adds what is the module's own to a state_dict."""
    for name, tensor in _own_state(module):
        keep = keep_vars or is_lazy(tensor)
        destination[prefix + name] = tensor if keep else tensor.detach()
    if _defines(module, "get_extra_state"):
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def _own_state(module: Module) -> Iterator[tuple[str, Tensor]]:
    for name, parameter in module._parameters.items():
        if parameter is not None:
            yield name, parameter
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            yield name, buffer


def _defines(module: Module, method: str) -> bool:
    from flambeau.nn.module import Module as Base

    return getattr(type(module), method) is not getattr(Base, method)


# --- loading ---


def _meant(unexpected: list[str], missing: list[str]) -> str:
    """What the keys that do not fit may come from: a wrapper around the module, or misspelling."""
    prefix = unexpected[0].partition(".")[0] + "."
    if missing and all(f"{prefix}{key}" in unexpected for key in missing):
        return f" (all begin with {prefix!r}: was the state that of a wrapper?)"
    near = {key: difflib.get_close_matches(key, missing, 1) for key in unexpected}
    meant = [f"{key} for {found[0]}" for key, found in near.items() if found]
    return f" ({', '.join(meant)}?)" if meant else ""


def load(
    module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool
) -> IncompatibleKeys:
    """Loads a module and all below it; see Module.load_state_dict."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"load_state_dict: expected a mapping, got {type(state_dict).__name__}")
    # A copy: hooks may rename keys.
    state = OrderedDict(state_dict)
    metadata = getattr(state_dict, "_metadata", None) or {}
    keys = IncompatibleKeys([], [])
    problems: list[str] = []
    with flambeau.no_grad():
        _load(module, state, "", metadata, assign, keys, problems)
    missing, unexpected = keys
    if strict:
        if unexpected:
            problems.insert(
                0, f"unexpected keys: {', '.join(unexpected)}{_meant(unexpected, missing)}"
            )
        if missing:
            problems.insert(0, f"missing keys: {', '.join(missing)}")
    if problems:
        listed = "\n  ".join(problems)
        raise RuntimeError(
            f"load_state_dict: the state does not fit {type(module).__name__}:\n  {listed}"
        )
    return keys


def _load(
    module: Module,
    state: Mapping[str, Any],
    prefix: str,
    metadata: Mapping[str, Any],
    assign: bool,
    keys: IncompatibleKeys,
    problems: list[str],
) -> None:
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    given = (state, prefix, local, True, keys.missing_keys, keys.unexpected_keys, problems)
    hooks = module._load_state_dict_pre_hooks
    for number, hook in list((hooks or {}).items()):
        if hooks is not None and hooks.is_marked(number, "module"):
            hook(module, *given)
        else:
            hook(*given)
    module._load_from_state_dict(*given)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = OrderedDict((k, v) for k, v in state.items() if k.startswith(below))
            _load(child, part, below, metadata, assign, keys, problems)
    for hook in list((module._load_state_dict_post_hooks or {}).values()):
        if hook(module, keys) is not None:
            raise RuntimeError(
                f"load_state_dict: a post-hook of {type(module).__name__} must change the keys in "
                "place and return None"
            )


def load_own(
    module: Module,
    state: Mapping[str, Any],
    prefix: str,
    strict: bool,
    assign: bool,
    missing: list[str],
    unexpected: list[str],
    problems: list[str],
) -> None:
    """Copies (or assigns) what is the module's own."""
    expected = dict(_own_state(module))
    for name, tensor in expected.items():
        if prefix + name in state:
            _load_one(module, name, tensor, state[prefix + name], assign, prefix, problems)
        elif strict:
            missing.append(prefix + name)
    takes_extra_state = _defines(module, "set_extra_state")
    if takes_extra_state and prefix + EXTRA_STATE in state:
        module.set_extra_state(state[prefix + EXTRA_STATE])
    elif takes_extra_state and strict:
        missing.append(prefix + EXTRA_STATE)
    if not strict:
        return
    for key in state:
        name, dot, _ = key[len(prefix) :].partition(".")
        if not key.startswith(prefix) or (dot and name in module._modules):
            continue
        if dot or not (name in expected or (takes_extra_state and name == EXTRA_STATE)):
            unexpected.append(key)


def _load_one(
    part: Module, name: str, own: Tensor, given: Any, assign: bool, prefix: str, problems: list[str]
) -> None:
    if not isinstance(given, Tensor):
        problems.append(f"{prefix}{name}: expected a Tensor, got {type(given).__name__}")
        return
    if is_lazy(own) or is_lazy(given):
        # Of two tensors without a shape there is nothing to take.
        if not (is_lazy(own) and is_lazy(given)):
            problems.append(f"{prefix}{name}: a tensor without a shape for one that has a shape")
        return
    if own.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]  # as the first versions of PyTorch saved numbers
    if given.shape != own.shape:
        problems.append(f"{prefix}{name}: shape {tuple(given.shape)}, expected {tuple(own.shape)}")
        return
    if not assign:
        if own.is_meta and not given.is_meta:
            warnings.warn(
                f"load_state_dict: {prefix}{name} is a meta tensor, which holds nothing: nothing "
                "is copied into it; assign=True takes the given tensor instead",
                stacklevel=2,
            )
        own.copy_(given)
    elif name in part._parameters:
        fitting = given if isinstance(given, Parameter) else Parameter(given, own.requires_grad)
        part._parameters[name] = fitting
    else:
        part._buffers[name] = given
