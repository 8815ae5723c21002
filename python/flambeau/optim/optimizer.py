"""The base class of optimizers: groups of parameters, their options and their state."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief, elements
from flambeau.nn.hooks import NO_HOOKS, HookTable, RemovableHandle, own_table
from flambeau.optim.own_optimizers import (  # noqa: F401
    ParamsT,
    _capturable_doc,
    _default_to_fused_or_foreach,
    _differentiable_doc,
    _dispatch_sqrt,
    _foreach_doc,
    _fused_doc,
    _get_value,
    _maximize_doc,
    _params_doc,
    _stack_if_compiling,
    _use_grad_for_differentiable,
    _view_as_real,
)
from flambeau.optim.step_hooks import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

Parameters = Iterable[Any]
Closure = Callable[[], Any]
Group = dict[str, Any]
Hook = Callable[..., Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Updates parameters from their gradients.

    Args:
        params: parameters, (name, parameter) pairs, or dicts with "params" and options of that
            group.
        defaults: options of groups that do not give them.

    Options that optimizers share:

    * maximize: go up along gradients.
    * foreach, fused, capturable: which of PyTorch's implementations computes a step. Here there is
      one; these are accepted and change nothing.
    * differentiable: steps are recorded, so that what follows from the parameters has gradients
      with respect to what their gradients are made of. Parameters need not be leaves, then.

    Attributes:
        param_groups: dicts with "params" (a list) and options.
        state: what is remembered for each parameter.

    Raises:
        TypeError, ValueError: for parameters that are none, that are no leaves or that come twice.

    Example:
        >>> class SignDescent(flambeau.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     @flambeau.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for parameter in group["params"]:
        ...                 parameter -= group["lr"] * parameter.grad.sign()
        >>> weight = flambeau.tensor([2., -1.], requires_grad=True)
        >>> (weight ** 2).sum().backward()
        >>> SignDescent([weight], lr=0.5).step()
        >>> weight
        tensor([ 1.5000, -0.5000], requires_grad=True)
    """

    _optimizer_step_pre_hooks: HookTable = NO_HOOKS
    _optimizer_step_post_hooks: HookTable = NO_HOOKS
    _optimizer_state_dict_pre_hooks: HookTable = NO_HOOKS
    _optimizer_state_dict_post_hooks: HookTable = NO_HOOKS
    _optimizer_load_state_dict_pre_hooks: HookTable = NO_HOOKS
    _optimizer_load_state_dict_post_hooks: HookTable = NO_HOOKS
    _is_stepping = False

    # Whether weight_decay shrinks parameters themselves, where no option says so.
    _decouples_weight_decay = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        if isinstance(params, Tensor) or not isinstance(params, Iterable):
            raise TypeError(
                f"{type(self).__name__}: argument 'params' must be an iterable of parameters, as "
                f"model.parameters() gives it, not {type(params).__name__}"
            )
        groups = list(elements(type(self).__name__, params))
        if not groups:
            raise ValueError(
                f"{type(self).__name__}: got no parameters: argument 'params' is empty"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters, with options of their own: a dict with "params"."""
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: a group must be a dict, got {type(param_group).__name__}")
        group = dict(param_group)
        given = group["params"]
        if isinstance(given, set):
            raise TypeError(f"{name}: parameters must be ordered, got a set")
        members = [given] if isinstance(given, Tensor) else list(given)
        if any(isinstance(member, tuple) for member in members):
            group["param_names"], members = _unzipped(name, members)
        for parameter in members:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"{name}: expected Tensors, got {type(parameter).__name__}")
            if not (parameter.is_leaf or self.defaults.get("differentiable")):
                raise ValueError(
                    f"{name}: the result of a computation cannot be optimized; give the leaves it "
                    "was computed from, or make it one: detach().requires_grad_()"
                )
        if len({id(p) for p in members}) != len(members):
            warnings.warn(
                f"{name}: a parameter occurs twice in a group, so that each step changes it twice",
                stacklevel=3,
            )
        known = {id(p) for p in chain.from_iterable(g["params"] for g in self.param_groups)}
        if any(id(p) in known for p in members):
            raise ValueError(f"{name}: a parameter is in another group already")
        group["params"] = members
        for option, default in self.defaults.items():
            if default is required and option not in group:
                raise ValueError(f"{name}: a group lacks the option '{option}'")
            group.setdefault(option, default)
        named = "param_names" in group
        if self.param_groups and named != ("param_names" in self.param_groups[0]):
            this, others = ("with", "without") if named else ("without", "with")
            raise ValueError(
                f"{name}: expected names in all groups or in none, got a group {this} names beside "
                f"groups {others} names"
            )
        self.param_groups.append(group)

    # --- stepping ---

    @with_hooks
    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient.

        Args:
            closure: computes the loss anew (with gradients) and returns it.

        Returns:
            What the closure returned, or None.
        """
        loss = None
        if closure is not None:
            with flambeau.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group.get("differentiable"):
                self._copy_state(group)
                with flambeau.enable_grad():
                    self._update_recorded(group)
            else:
                with flambeau.no_grad():
                    self._update(group)
        return loss

    def _update(self, group: Group) -> None:
        """One step of one group; subclasses define it. Runs unrecorded."""
        raise NotImplementedError(f"{type(self).__name__} defines neither step() nor _update()")

    def _update_recorded(self, group: Group) -> None:
        """The same, of operations that are recorded."""
        self._update(group)

    def _copy_state(self, group: Group) -> None:
        """Recorded steps read the state, so the next one must write elsewhere."""
        for parameter in group["params"]:
            state = self.state.get(parameter, {})
            for name, value in state.items():
                if isinstance(value, Tensor):
                    state[name] = value.clone()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients (or sets them to zero)."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.detach_().zero_()

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before each step; it may return other arguments.
        The first of `args` is the optimizer."""
        return own_table(self, "_optimizer_step_pre_hooks").add(hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs after each step."""
        return own_table(self, "_optimizer_step_post_hooks").add(hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` runs before the state is collected."""
        return own_table(self, "_optimizer_state_dict_pre_hooks").add(hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs after the state was collected; it may return another
        one."""
        return own_table(self, "_optimizer_state_dict_post_hooks").add(hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs before a state is taken over; it may return another
        one. The dict is a copy; what it holds is not."""
        return own_table(self, "_optimizer_load_state_dict_pre_hooks").add(hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs after a state was taken over."""
        return own_table(self, "_optimizer_load_state_dict_post_hooks").add(hook, prepend=prepend)

    # --- state ---

    def state_dict(self) -> dict[str, Any]:
        """State and options; parameters are numbered in the order of the groups.

        Returns:
            {"state": {number: {name: value}}, "param_groups": [options with numbers as "params"]}.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers.setdefault(id(p), len(numbers)) for p in group["params"]]
            groups.append(packed)
        state = {
            (numbers[id(key)] if isinstance(key, Tensor) else key): value
            for key, value in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        return self._changed(self._optimizer_state_dict_post_hooks, result)

    def _changed(self, hooks: HookTable, state: dict[str, Any]) -> dict[str, Any]:
        """A state, or what hooks want in its place."""
        for hook in list(hooks.values()):
            changed = hook(self, state)
            if changed is not None:
                state = changed
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a state_dict, converted to the dtypes of the parameters.

        Raises:
            ValueError: if the numbers of groups or parameters differ.
        """
        name = type(self).__name__
        state_dict = self._changed(self._optimizer_load_state_dict_pre_hooks, dict(state_dict))
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError(
                f"{name}: the state has {len(saved)} groups, the optimizer {len(self.param_groups)}"
            )
        by_number: dict[int, Tensor] = {}
        for i, (theirs, ours) in enumerate(zip(saved, self.param_groups, strict=True)):
            if len(theirs["params"]) != len(ours["params"]):
                raise ValueError(
                    f"{name}: group {i} of the state has {len(theirs['params'])} parameters, the "
                    f"optimizer's has {len(ours['params'])}"
                )
            by_number.update(zip(theirs["params"], ours["params"], strict=True))
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for number, entry in state_dict["state"].items():
            parameter = by_number.get(number)
            if parameter is None:
                state[number] = copy.deepcopy(entry)
            else:
                state[parameter] = {
                    key: _converted(value, parameter, key) for key, value in entry.items()
                }
        self.state = state
        for theirs, ours in zip(saved, self.param_groups, strict=True):
            ours.update({k: copy.deepcopy(v) for k, v in theirs.items() if k != "params"})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join([*lines[:-1], ")"])


def _unzipped(name: str, members: list[Any]) -> tuple[list[Any], list[Any]]:
    """Names and parameters of (name, parameter) pairs."""
    for member in members:
        if not isinstance(member, tuple) or len(member) != 2:
            raise ValueError(
                f"{name}: expected names of all parameters or of none, as (name, parameter), got "
                f"{brief(member)} among them"
            )
    return [member[0] for member in members], [member[1] for member in members]


def _converted(value: Any, parameter: Tensor, key: str) -> Any:
    """A copy of a state's value; floating tensors take the parameter's dtype, but for the step."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if key == "step" or not parameter.is_floating_point():
        return value.detach().clone()
    return value.detach().to(dtype=parameter.dtype, device=parameter.device).clone()
