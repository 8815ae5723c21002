"""The base class of everything that has weights."""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from flambeau import Tensor
from flambeau.nn import failed_calls, global_hooks, module_hooks, module_state
from flambeau.nn.global_hooks import registered
from flambeau.nn.hooks import HookTable
from flambeau.nn.module_conversion import ModuleConversion
from flambeau.nn.module_hooks import ModuleHooks
from flambeau.nn.module_state import IncompatibleKeys
from flambeau.nn.module_tree import ModuleTree
from flambeau.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from flambeau.nn.typed_call import ForwardCall

T = TypeVar("T", bound="Module")


class Module(ModuleTree, ModuleHooks, ModuleConversion):
    """A part of a model: parameters, buffers and submodules under names, and a `forward`.

    Assigning a Parameter, a Buffer or a Module to an attribute registers it. Calling the module
    runs its hooks around `forward`.

    Example:
        >>> class Doubler(flambeau.nn.Module):
        ...     def __init__(self, features):
        ...         super().__init__()
        ...         self.linear = flambeau.nn.Linear(features, 2 * features)
        ...     def forward(self, x):
        ...         return self.linear(x)
        >>> model = Doubler(3)
        >>> model(flambeau.ones(1, 3)).shape
        flambeau.Size([1, 6])
        >>> [name for name, _ in model.named_parameters()]
        ['linear.weight', 'linear.bias']
        >>> model
        Doubler(
          (linear): Linear(in_features=3, out_features=6, bias=True)
        )
    """

    training: bool
    dump_patches = False
    _version = 1
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            raise TypeError(
                f"{type(self).__name__}: Module.__init__() takes no arguments, got "
                f"{len(args) + len(kwargs)}"
            )
        set_attribute = super().__setattr__
        set_attribute("training", True)
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_modules", {})
        set_attribute("_non_persistent_buffers_set", set())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Computes the module's result; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    if TYPE_CHECKING:
        __call__ = ForwardCall()
    else:

        def __call__(self, *inputs: Any, **keywords: Any) -> Any:
            try:
                if (
                    self._forward_hooks
                    or self._forward_pre_hooks
                    or self._backward_hooks
                    or self._backward_pre_hooks
                    or global_hooks.calls
                ):
                    return module_hooks.call(self, inputs, keywords)
                return self.forward(*inputs, **keywords)
            except Exception as error:
                failed_calls.note(self, error)
                raise

    # --- attributes ---

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            modules = self._tables()["_modules"]
            modules[name] = registered(global_hooks.module_registration, self, name, value)
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif not self._set_registered(name, value):
            object.__setattr__(self, name, value)

    def _tables(self) -> dict[str, Any]:
        tables = self.__dict__
        if "_modules" not in tables:
            raise AttributeError(
                f"{type(self).__name__} assigns parameters or modules before Module.__init__() was "
                "called"
            )
        return tables

    def _forget(self, name: str, into: str) -> None:
        """Frees a name for the table `into`, where it keeps its position."""
        tables = self._tables()
        tables.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != into:
                tables[table].pop(name, None)
        tables["_non_persistent_buffers_set"].discard(name)

    def _set_registered(self, name: str, value: Any) -> bool:
        """Replaces what is registered under a name by None or a tensor; False: nothing is there."""
        tables = self.__dict__
        parameters = tables.get("_parameters")
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign {type(value).__name__} to parameter '{name}' of "
                    f"{type(self).__name__}: a Parameter or None is expected"
                )
            parameters[name] = None
            return True
        modules = tables.get("_modules")
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign {type(value).__name__} to module '{name}' of "
                    f"{type(self).__name__}: a Module or None is expected"
                )
            modules[name] = None
            return True
        buffers = tables.get("_buffers")
        if buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign {type(value).__name__} to buffer '{name}' of "
                    f"{type(self).__name__}: a Tensor or None is expected"
                )
            buffers[name] = registered(global_hooks.buffer_registration, self, name, value)
            return True
        return False

    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = tables.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = set(super().__dir__()) | {*self._parameters, *self._buffers, *self._modules}
        return sorted(n for n in names if n.isidentifier())

    # --- registration ---

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under `name`; None keeps the name free for one."""
        self._check_name(name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"register_parameter: '{name}' must be a Parameter or None, got "
                f"{type(param).__name__}"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"register_parameter: '{name}' is the result of a computation, not a leaf"
            )
        if param is not None:
            param = registered(global_hooks.parameter_registration, self, name, param)
        self._tables()["_parameters"][name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer under `name`. Not persistent: it is left out of the state_dict."""
        self._check_name(name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: '{name}' must be a Tensor or None, got {type(tensor).__name__}"
            )
        tensor = registered(global_hooks.buffer_registration, self, name, tensor)
        self._tables()["_buffers"][name] = tensor
        (
            self._non_persistent_buffers_set.discard
            if persistent
            else self._non_persistent_buffers_set.add
        )(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under `name`."""
        self._check_name(name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"add_module: '{name}' must be a Module or None, got {type(module).__name__}"
            )
        module = registered(global_hooks.module_registration, self, name, module)
        self._tables()["_modules"][name] = module

    def _check_name(self, name: str, table: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a name must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"a name must not be empty nor hold a '.', got '{name}'")
        # Python's cache of attributes keeps each string that it has seen: one for a name is enough.
        if hasattr(self, sys.intern(str(name))) and name not in self._tables()[table]:
            raise KeyError(f"{type(self).__name__} has an attribute '{name}' already")

    # --- state ---

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by dotted name; they share the module's memory.

        Args:
            args: destination, prefix and keep_vars, as they were given formerly.
            destination: a dict to add to.
            prefix: what names begin with.
            keep_vars: give parameters themselves, not detached.
        """
        if args:
            warnings.warn(
                "state_dict: give destination, prefix and keep_vars by their names",
                FutureWarning,
                stacklevel=2,
            )
            given = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        return module_state.collect(self, destination, prefix, keep_vars)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Adds what is the module's own; subclasses may change what that is."""
        module_state.save_own(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies tensors of a state_dict into this module.

        Args:
            state_dict: tensors by dotted name.
            strict: raise for missing and unexpected keys.
            assign: take the tensors themselves over.

        Raises:
            RuntimeError: listing every missing and unexpected key (when `strict`) and every shape
                that does not fit.
        """
        return module_state.load(self, state_dict, strict, assign)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes what is the module's own; subclasses may read other forms of it."""
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        module_state.load_own(
            self, state_dict, prefix, strict, assign, missing_keys, unexpected_keys, error_msgs
        )

    def get_extra_state(self) -> Any:
        """State beyond tensors that state_dict should keep; subclasses may define it."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what get_extra_state() returned."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Files of PyTorch have a plain dict of each kind of hooks, which is empty as a rule.
        for name, value in state.items():
            if name.endswith("_hooks") and not isinstance(value, HookTable):
                value = HookTable(value) if value else None
            self.__dict__[name] = value

    # --- printing ---

    def extra_repr(self) -> str:
        """What stands in the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        own = self.extra_repr()
        children = [f"({name}): {_indented(repr(m))}" for name, m in self._modules.items()]
        if not children and "\n" not in own:
            return f"{self._get_name()}({own})"
        lines = ([*own.split("\n")] if own else []) + children
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _get_name(self) -> str:
        return type(self).__name__


def _indented(text: str, spaces: int = 2) -> str:
    return text.replace("\n", "\n" + " " * spaces)
