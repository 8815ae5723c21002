"""Tensors of modules that are functions of other tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import check_memo
from flambeau.nn.containers import ModuleDict, ModuleList
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Tensor] = {}
_users_of_cache = 0


@contextmanager
def cached() -> Iterator[None]:
    """Within it each parametrized tensor is computed once, when it is first asked for.

    To be left before an optimizer steps: values are not computed anew.

    Example:
        >>> from flambeau.nn.utils.parametrize import cached, register_parametrization
        >>> class Symmetric(flambeau.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = register_parametrization(flambeau.nn.Linear(3, 3), "weight", Symmetric())
        >>> with cached():
        ...     layer.weight is layer.weight
        True
    """
    global _users_of_cache
    _users_of_cache += 1
    try:
        yield
    finally:
        _users_of_cache -= 1
        if not _users_of_cache:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other, and what they start from:
    `original`, or `original0`, `original1`, ... where the first takes several tensors.

    Args:
        modules: the parametrizations.
        original: the tensor as it was; right inverses are applied to it.
        unsafe: whether the result may differ from it in shape and dtype.

    Example:
        >>> from flambeau.nn.utils.parametrize import register_parametrization
        >>> class Doubled(flambeau.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> layer = register_parametrization(flambeau.nn.Linear(3, 3), "weight", Doubled())
        >>> layer.parametrizations.weight
        ParametrizationList(
          (0): Doubled()
        )
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList: expected at least one parametrization")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach()
        value = self._inverted(original, required=False)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if not self.is_tensor:
            for name, part in zip(self._names(), value, strict=True):
                self._add_part(name, part, original)
        elif isinstance(original, Parameter):
            # The same object: optimizers know it.
            original.data = _fitting(value, original).detach()
            self.original = original
        else:
            self.register_buffer("original", value)
        if unsafe:
            return
        try:
            _check_kept("a parametrization", self(), before)
        except ValueError:
            original.data = before
            raise

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _add_part(self, name: str, part: Any, original: Tensor) -> None:
        if isinstance(original, Parameter):
            parameter = Parameter(_fitting(part, original), original.requires_grad)
            self.register_parameter(name, parameter)
        else:
            self.register_buffer(name, part)

    def _inverted(self, value: Any, required: bool) -> Any:
        with flambeau.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    # What has no inverse starts from the value as it is.
                    with nullcontext() if required else suppress(NotImplementedError):
                        value = module.right_inverse(value)
        if not isinstance(value, Tensor | Sequence):
            raise ValueError(
                f"right_inverse of {type(self[0]).__name__} must return a Tensor or several, got "
                f"{type(value).__name__}"
            )
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parametrized tensor becomes `value`.

        Raises:
            RuntimeError: a parametrization has no right_inverse.
            ValueError: what it returns does not fit the originals.
        """
        for module in self:
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"{type(module).__name__} has no right_inverse, so the tensor cannot be set"
                )
        result = self._inverted(value, required=True)
        parts = [result] if self.is_tensor else list(result)
        if len(parts) != self.ntensors:
            raise ValueError(
                f"right_inverse returned {len(parts)} tensors for {self.ntensors} originals"
            )
        for name, part in zip(self._names(), parts, strict=True):
            original = getattr(self, name)
            original.data = _fitting(part, original).detach()

    def forward(self) -> Tensor:
        modules = iter(self)
        value = next(modules)(*[getattr(self, name) for name in self._names()])
        for module in modules:
            value = module(value)
        return value


def _fitting(value: Any, original: Tensor) -> Tensor:
    """What a right inverse returned for a parameter."""
    if not isinstance(value, Tensor):
        raise ValueError(f"right_inverse must return tensors, got {type(value).__name__}")
    if value.dtype != original.dtype:
        raise ValueError(
            f"right_inverse must keep the dtype {original.dtype} of a parameter, got {value.dtype}"
        )
    return value


def _check_kept(who: str, value: Any, before: Tensor) -> None:
    """Raises ValueError unless a value is a tensor of the same dtype and shape as before."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{who} must return a Tensor, got {type(value).__name__}")
    if (value.dtype, value.shape) != (before.dtype, before.shape):
        raise ValueError(
            f"{who} must keep {before.dtype} and shape {tuple(before.shape)}, got "
            f"{value.dtype} and {tuple(value.shape)}; unsafe=True allows it"
        )


def _property(name: str) -> property:
    def get(self: Any) -> Tensor:
        if not _users_of_cache:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set_(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set_)


def _refuse_pickling(self: Module) -> dict[str, Any]:
    raise RuntimeError(
        f"{type(self).__name__} cannot be pickled: expected a state_dict, which has the originals"
    )


def _copied(self: Module, memo: dict[int, Any]) -> Module:
    """A deep copy, whose class is the same: it is made here, and what is there is copied."""
    check_memo(memo)
    clone: Module = type(self).__new__(type(self))
    memo[id(self)] = clone
    clone.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return clone


def _set_class(module: Module, base: type, names: list[str]) -> None:
    """Gives a module properties for its parametrized tensors, by a class of its own."""
    if not names:
        module.__class__ = base
        return
    members: dict[str, Any] = {name: _property(name) for name in names}
    members["__getstate__"] = _refuse_pickling
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _copied
    members["__module__"] = base.__module__
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module is parametrized.

    Args:
        module: what has the tensor.
        tensor_name: its name; None: whether any is.

    Example:
        >>> from flambeau.nn.utils.parametrize import is_parametrized
        >>> is_parametrized(flambeau.nn.Linear(3, 3))
        False
    """
    found = module._modules.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return bool(len(found)) if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """The class of a module, as it was before its tensors were parametrized.

    Args:
        module: the module.

    Example:
        >>> from flambeau.nn.utils.parametrize import register_parametrization
        >>> from flambeau.nn.utils.parametrize import type_before_parametrizations
        >>> class Doubled(flambeau.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> layer = register_parametrization(flambeau.nn.Linear(3, 3), "weight", Doubled())
        >>> type(layer).__name__, type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes a tensor of a module a function of another one, which takes its place in optimizers and
    in the state_dict: `parametrizations.NAME.original`.

    Args:
        module: what has the tensor.
        tensor_name: a parameter or buffer, or a tensor that is parametrized already.
        parametrization: its forward computes the tensor. Where it has `right_inverse`, this gives
            the first value of the original (or of several), and the tensor can be assigned to.
        unsafe: allow the tensor another shape and dtype; nothing is checked.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor, or the parametrization changes its shape or dtype.

    Example:
        >>> from flambeau.nn.utils.parametrize import register_parametrization
        >>> class Symmetric(flambeau.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = register_parametrization(flambeau.nn.Linear(3, 3), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _add(module.parametrizations[tensor_name], parametrization, unsafe)
        return module
    table = next((t for t in (module._parameters, module._buffers) if tensor_name in t), None)
    if table is None or table[tensor_name] is None:
        raise ValueError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer "
            f"'{tensor_name}'"
        )
    original = table[tensor_name]
    listed = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    base = type_before_parametrizations(module)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = listed
    _set_class(module, base, list(module.parametrizations))
    return module


def _add(listed: ParametrizationList, parametrization: Module, unsafe: bool) -> None:
    """One more parametrization after those that are there."""
    if unsafe:
        listed.append(parametrization)
        listed.unsafe = True
        return
    before = listed()
    after = parametrization(before)
    _check_kept("a parametrization", after, before)
    if hasattr(parametrization, "right_inverse"):
        inverse = parametrization.right_inverse(after)
        _check_kept("right_inverse of a parametrization that is not the first", inverse, before)
    listed.append(parametrization)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Makes a parametrized tensor a parameter or buffer again.

    Args:
        module: what has the tensor.
        tensor_name: its name.
        leave_parametrized: keep its value; False: take the original back.

    Returns:
        The module.

    Raises:
        ValueError: it is not parametrized, or the original is several tensors.

    Example:
        >>> from flambeau.nn.utils.parametrize import is_parametrized
        >>> from flambeau.nn.utils.parametrize import register_parametrization
        >>> from flambeau.nn.utils.parametrize import remove_parametrizations
        >>> class Doubled(flambeau.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> layer = register_parametrization(flambeau.nn.Linear(3, 3), "weight", Doubled())
        >>> layer = remove_parametrizations(layer, "weight")
        >>> is_parametrized(layer)
        False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: '{tensor_name}' of {type(module).__name__} is not "
            "parametrized"
        )
    listed = module.parametrizations[tensor_name]
    if listed.is_tensor:
        result = listed.original
        if leave_parametrized:
            result.data = listed().detach()
    elif leave_parametrized:
        value = listed()
        result = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            f"remove_parametrizations: '{tensor_name}' comes of {listed.ntensors} tensors; "
            "expected leave_parametrized=True"
        )
    base = type_before_parametrizations(module)
    del module.parametrizations[tensor_name]
    _set_class(module, base, list(module.parametrizations))
    if not len(module.parametrizations):
        del module.parametrizations
    _register(module, tensor_name, result)
    return module


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives a module the parametrizations of another one, with their originals, and its parameters
    that are not parametrized.

    Args:
        from_module: what has them.
        to_module: what gets them.
        tensor_name: the one tensor that is wanted; None: all that are parametrized.

    Returns:
        to_module.

    Example:
        >>> from flambeau.nn.utils.parametrize import register_parametrization
        >>> from flambeau.nn.utils.parametrize import transfer_parametrizations_and_params
        >>> class Doubled(flambeau.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> layer = register_parametrization(flambeau.nn.Linear(3, 3), "weight", Doubled())
        >>> other = transfer_parametrizations_and_params(layer, flambeau.nn.Linear(3, 3))
        >>> bool((other.weight == layer.weight).all())
        True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not is_parametrized(from_module, name):
            continue
        if not hasattr(to_module, name):
            value = getattr(from_module, name).detach().clone()
            _register(to_module, name, Parameter(value))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        for part, original in (*source._parameters.items(), *source._buffers.items()):
            if original is not None:
                setattr(target, part, original)
    return to_module
