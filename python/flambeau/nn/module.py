"""The base class of everything that has weights."""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import flambeau
from flambeau import Tensor
from flambeau._values import check_memo
from flambeau.nn import module_state
from flambeau.nn.hooks import HookTable, RemovableHandle
from flambeau.nn.module_tree import ModuleTree
from flambeau.nn.parameter import Buffer, Parameter

T = TypeVar("T", bound="Module")


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict(strict=False)` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(ModuleTree):
    """A part of a model: parameters, buffers and submodules under names, and a `forward`.

    Assigning a Parameter, a Buffer or a Module to an attribute registers it. Calling the module
    runs its hooks around `forward`.
    """

    training: bool
    dump_patches = False
    _version = 1

    def __init__(self) -> None:
        set_attribute = super().__setattr__
        set_attribute("training", True)
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_modules", {})
        set_attribute("_non_persistent_buffers_set", set())
        set_attribute("_forward_hooks", None)
        set_attribute("_forward_pre_hooks", None)
        set_attribute("_backward_hooks", None)
        set_attribute("_state_dict_hooks", None)
        set_attribute("_load_state_dict_pre_hooks", None)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Computes the module's result; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    # --- calling ---

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        if (
            self._forward_hooks is None
            and self._forward_pre_hooks is None
            and self._backward_hooks is None
        ):
            return self.forward(*inputs, **keywords)
        return self._call_with_hooks(inputs, keywords)

    def _call_with_hooks(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        for hook in list((self._forward_pre_hooks or {}).values()):
            if getattr(hook, "_with_kwargs", False):
                changed = hook(self, inputs, keywords)
                if changed is not None:
                    inputs, keywords = changed
            else:
                changed = hook(self, inputs)
                if changed is not None:
                    inputs = changed if isinstance(changed, tuple) else (changed,)
        watch = self._watch_backward() if self._backward_hooks else None
        if watch is not None:
            inputs = watch.inputs(inputs)
        result = self.forward(*inputs, **keywords)
        for hook in list((self._forward_hooks or {}).values()):
            with_keywords = getattr(hook, "_with_kwargs", False)
            given = (self, inputs, keywords, result) if with_keywords else (self, inputs, result)
            changed = hook(*given)
            if changed is not None:
                result = changed
        return result if watch is None else watch.outputs(result)

    def _watch_backward(self) -> Any:
        from flambeau.nn.backward_hooks import BackwardWatch

        return BackwardWatch(self, list(self._backward_hooks.values()))

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, inputs)` runs before forward and may return other inputs."""
        if self._forward_pre_hooks is None:
            object.__setattr__(self, "_forward_pre_hooks", HookTable())
        return self._forward_pre_hooks.add(_marked(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, inputs, output)` runs after forward and may return another output."""
        if self._forward_hooks is None:
            object.__setattr__(self, "_forward_hooks", HookTable())
        return self._forward_hooks.add(_marked(hook, with_kwargs), prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are known
        and may return other gradients of the inputs."""
        if self._backward_hooks is None:
            object.__setattr__(self, "_backward_hooks", HookTable())
        return self._backward_hooks.add(hook, prepend=prepend)

    # --- attributes ---

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self._tables()["_modules"][name] = value
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
            buffers[name] = value
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
        self._tables()["_parameters"][name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer under `name`. Not persistent: it is left out of the state_dict."""
        self._check_name(name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: '{name}' must be a Tensor or None, got {type(tensor).__name__}"
            )
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
        self._tables()["_modules"][name] = module

    def _check_name(self, name: str, table: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a name must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"a name must not be empty nor hold a '.', got '{name}'")
        # Python's cache of attributes keeps each string that it has seen: one for a name is enough.
        if hasattr(self, sys.intern(str(name))) and name not in self._tables()[table]:
            raise KeyError(f"{type(self).__name__} has an attribute '{name}' already")

    # --- changing everything below ---

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Calls `fn` on every module below this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: T, fn: Callable[[Tensor], Tensor]) -> T:
        """Replaces every parameter, its gradient and every buffer by `fn` of it; parameters stay
        the same objects, so that optimizers keep them."""
        for module in self.children():
            module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            grad = parameter.grad
            with flambeau.no_grad():
                parameter.data = fn(parameter.data)
                if grad is not None:
                    parameter.grad = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Moves and converts parameters and buffers: `to(device)`, `to(dtype)`,
        `to(device, dtype)`, `to(tensor)`. A dtype applies to floating and complex tensors only."""
        device, dtype = module_state.parse_to(args, kwargs)

        def convert(tensor: Tensor) -> Tensor:
            keep = dtype is None or not (tensor.is_floating_point() or tensor.is_complex())
            return tensor.to(device=device, dtype=None if keep else dtype)

        return self._apply(convert)

    def type(self: T, dst_type: Any) -> T:
        """Converts every parameter and buffer to a dtype."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self: T) -> T:
        """Floating tensors become float32."""
        return self._floating(flambeau.float32)

    def double(self: T) -> T:
        """Floating tensors become float64."""
        return self._floating(flambeau.float64)

    def half(self: T) -> T:
        """Floating tensors become float16."""
        return self._floating(flambeau.float16)

    def bfloat16(self: T) -> T:
        """Floating tensors become bfloat16."""
        return self._floating(flambeau.bfloat16)

    def _floating(self: T, dtype: Any) -> T:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def cpu(self: T) -> T:
        """Moves everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: T, device: Any = None) -> T:
        """Moves everything to a CUDA device."""
        target = "cuda" if device is None else device
        return self._apply(lambda t: t.to(flambeau.device(target)))

    def share_memory(self: T) -> T:
        """Moves parameters, their gradients and buffers to memory that other processes share; see
        `Tensor.share_memory_`."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
            if tensor.grad is not None:
                tensor.grad.share_memory_()
        return self

    def train(self: T, mode: bool = True) -> T:
        """Sets training mode here and below (dropout, batch norm); `train(False)` is `eval()`."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode must be a bool, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Sets evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Whether gradients are computed for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops (or zeroes) the gradients of the parameters."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                with flambeau.no_grad():
                    parameter.grad = flambeau.zeros_like(parameter.grad)

    # --- state ---

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by dotted name; they share the module's memory."""
        return module_state.collect(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies tensors of a state_dict into this module.

        Raises:
            RuntimeError: listing every missing and unexpected key (when `strict`) and every shape
                that does not fit.
        """
        missing, unexpected = module_state.load(self, state_dict, strict, assign)
        return IncompatibleKeys(missing, unexpected)

    def get_extra_state(self) -> Any:
        """State beyond tensors that state_dict should keep; subclasses may define it."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what get_extra_state() returned."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        check_memo(memo)
        clone = type(self).__new__(type(self))
        memo[id(self)] = clone
        for name, value in self.__dict__.items():
            clone.__dict__[name] = copy.deepcopy(value, memo)
        return clone

    # --- printing ---

    def extra_repr(self) -> str:
        """What stands in the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        own = self.extra_repr()
        children = [f"({name}): {_indented(repr(m))}" for name, m in self._modules.items()]
        if not children:
            return f"{self._get_name()}({own})"
        lines = ([*own.split("\n")] if own else []) + children
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _get_name(self) -> str:
        return type(self).__name__


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _marked(hook: Callable[..., Any], with_kwargs: bool) -> Callable[..., Any]:
    if not with_kwargs:
        return hook

    def call(*arguments: Any) -> Any:
        return hook(*arguments)

    call._with_kwargs = True  # type: ignore[attr-defined]
    return call
