"""Which modules of a model are wrapped: policies, and what asks them.

FullyShardedDataParallel, which they are made for, is not available. What asks them too is
`apply_activation_checkpointing` of `distributed.algorithms._checkpoint.checkpoint_wrapper`, and
`enable_wrap` takes any class.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from flambeau.nn import Module, ModuleDict, ModuleList, MultiheadAttention

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

Kwargs = dict[str, Any]


# Policies -----------------------------------------------------------------------------------------
#
# A policy is asked with `recurse=True` whether a module's children are looked at, and then with
# `recurse=False` whether it is wrapped itself.


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True: every module is wrapped.

    Example:
        >>> flambeau.distributed.fsdp.wrap.always_wrap_policy()
        True
    """
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """What `lambda_fn` says of a module.

    Args:
        module: the module.
        recurse: whether it is asked for its children; they are looked at always.
        nonwrapped_numel: accepted.
        lambda_fn: says whether a module is wrapped.

    Example:
        >>> from flambeau.distributed.fsdp.wrap import lambda_auto_wrap_policy
        >>> lambda_auto_wrap_policy(flambeau.nn.ReLU(), False, 0, lambda m: bool([*m.parameters()]))
        False
    """
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: Iterable[type[Module]],
) -> bool:
    """Whether a module is of given classes: the layers of a transformer.

    Args:
        module, recurse, nonwrapped_numel: as of `lambda_auto_wrap_policy`.
        transformer_layer_cls: the classes.

    Example:
        >>> from flambeau.distributed.fsdp.wrap import transformer_auto_wrap_policy
        >>> layer = flambeau.nn.TransformerEncoderLayer(2, 1, 4)
        >>> transformer_auto_wrap_policy(layer, False, 0, {flambeau.nn.TransformerEncoderLayer})
        True
    """
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: Iterable[type[Module]]
) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    policies: Iterable[Callable[..., bool]],
) -> bool:
    asked = {"module": module, "recurse": recurse, "nonwrapped_numel": nonwrapped_numel}
    return any(policy(**asked) for policy in policies)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: Iterable[type[Module]] | None = None,
    exclude_wrap_modules: Iterable[type[Module]] | None = None,
) -> bool:
    """Whether a module has many parameters that are not in a wrapped child.

    Args:
        module, recurse: as of `lambda_auto_wrap_policy`.
        nonwrapped_numel: how many elements those parameters have.
        min_num_params: how many are many.
        force_leaf_modules: classes whose children are not looked at; None: MultiheadAttention.
        exclude_wrap_modules: classes that are not wrapped; None: ModuleList and ModuleDict.

    Example:
        >>> from flambeau.distributed.fsdp.wrap import size_based_auto_wrap_policy
        >>> layer = flambeau.nn.Linear(10, 10)
        >>> size_based_auto_wrap_policy(layer, False, 110, min_num_params=100)
        True
    """
    if recurse:
        given = force_leaf_modules
        apart = _sizes.FORCE_LEAF_MODULES if given is None else given
    else:
        given = exclude_wrap_modules
        apart = _sizes.EXCLUDE_WRAP_MODULES if given is None else given
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(apart))


_sizes: Any = size_based_auto_wrap_policy  # what programs change are attributes of the function
_sizes.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}
_sizes.FORCE_LEAF_MODULES = {MultiheadAttention}


class _Policy:
    """A policy that is an object."""

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: Kwargs
    ) -> dict[Module, Kwargs]:
        """The modules that are wrapped, and the arguments of each."""
        found = {}
        for module in root_module.modules():
            told = False if module in ignored_modules else self._asked(module)
            if told is not False:
                found[module] = root_kwargs | (told if isinstance(told, dict) else {})
        return found

    def _asked(self, module: Module) -> bool | Kwargs:
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Modules of given classes are wrapped.

    Args:
        module_classes: the classes.

    Example:
        >>> from flambeau.distributed.fsdp.wrap import ModuleWrapPolicy
        >>> policy = ModuleWrapPolicy({flambeau.nn.Linear})
        >>> policy(flambeau.nn.Linear(1, 1), recurse=False), policy(flambeau.nn.ReLU(), False)
        (True, False)
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def _asked(self, module: Module) -> bool | Kwargs:
        return isinstance(module, tuple(self._module_classes))

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether a module is wrapped; with `recurse`, whether its children are looked at."""
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """What a function says of each module: False, True, or True with arguments of the wrapper.

    Args:
        lambda_fn: takes a module, returns a bool or a dict of arguments.

    Raises:
        ValueError: from what asks it, if the function returns something else.

    Example:
        >>> from flambeau.distributed.fsdp.wrap import CustomPolicy
        >>> policy = CustomPolicy(lambda module: isinstance(module, flambeau.nn.Linear))
        >>> model = flambeau.nn.Sequential(flambeau.nn.Linear(1, 1), flambeau.nn.ReLU())
        >>> list(policy._run_policy(model, set(), {}))
        [Linear(in_features=1, out_features=1, bias=True)]
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | Kwargs]) -> None:
        self._lambda_fn = lambda_fn

    def _asked(self, module: Module) -> bool | Kwargs:
        told = self._lambda_fn(module)
        if not isinstance(told, bool | dict):
            raise ValueError(
                f"CustomPolicy: expected a bool or a dict of arguments for a module, got {told!r}"
            )
        return told


# What asks them -----------------------------------------------------------------------------------


class _ConfigAutoWrap:
    """The wrapper in force, and its arguments."""

    in_autowrap_context = False
    wrapper_cls: Callable[..., Module] | None = None
    kwargs: Kwargs = {}  # noqa: RUF012


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Lets `wrap` wrap modules, in the block of `with`.

    Args:
        wrapper_cls: a class or function that takes a module.
        wrapper_kwargs: its other arguments.

    Raises:
        NotImplementedError: inside such a block.

    Example:
        >>> from flambeau.distributed.fsdp.wrap import enable_wrap, wrap
        >>> with enable_wrap(wrapper_cls=flambeau.nn.Sequential):
        ...     layer = wrap(flambeau.nn.ReLU())
        >>> type(layer).__name__, type(wrap(flambeau.nn.ReLU())).__name__
        ('Sequential', 'ReLU')
    """
    if _ConfigAutoWrap.in_autowrap_context:
        raise NotImplementedError("enable_wrap(): one block cannot stand in another")
    _ConfigAutoWrap.in_autowrap_context = True
    _ConfigAutoWrap.wrapper_cls, _ConfigAutoWrap.kwargs = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _ConfigAutoWrap.in_autowrap_context = False
        _ConfigAutoWrap.wrapper_cls, _ConfigAutoWrap.kwargs = None, {}


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """A module, wrapped as `enable_wrap` says; the module itself outside of its block.

    Args:
        module: the module.
        wrap_overrides: arguments of the wrapper, in place of those that `enable_wrap` was given.

    Example:
        >>> layer = flambeau.nn.ReLU()
        >>> flambeau.distributed.fsdp.wrap.wrap(layer) is layer
        True
    """
    wrapper = _ConfigAutoWrap.wrapper_cls
    if wrapper is None:
        return module
    return _wrap(module, wrapper, **(_ConfigAutoWrap.kwargs | wrap_overrides))


def _wrap(module: Module, wrapper_cls: Callable[..., Module], **kwargs: Any) -> Module:
    own: Kwargs = getattr(module, "_wrap_overrides", {})
    return wrapper_cls(module, **(kwargs | own))


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wraps the children that a policy names, innermost first, and the module itself.

    Returns:
        The module, wrapped or not, and how many elements the parameters in wrapped ones have.
    """
    numel = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=numel):
        return module, 0
    inside = 0
    for name, child in [*module.named_children()]:
        if child in ignored_modules:
            continue
        wrapped, count = _recursive_wrap(
            child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
        )
        setattr(module, name, wrapped)
        inside += count
    if only_wrap_children or not auto_wrap_policy(
        module=module, recurse=False, nonwrapped_numel=numel - inside
    ):
        return module, inside
    return _wrap(module, wrapper_cls, **kwargs), numel
