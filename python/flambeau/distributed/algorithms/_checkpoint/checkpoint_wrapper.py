"""Modules in a wrapper that computes them again for the gradients, or keeps what they save on the
CPU. Names of parameters and of states are those of the wrapped module.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from flambeau.autograd.graph import save_on_cpu
from flambeau.distributed.fsdp.wrap import _recursive_wrap, lambda_auto_wrap_policy
from flambeau.nn import Module
from flambeau.utils.checkpoint import checkpoint

_WRAPPED = "_checkpoint_wrapped_module"
_PREFIX = f"{_WRAPPED}."

__all__ = [
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "OffloadWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]


class CheckpointImpl(Enum):
    """How `utils.checkpoint` computes again: `use_reentrant` or not.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> [way.name for way in CheckpointImpl]
        ['REENTRANT', 'NO_REENTRANT']
    """

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module, ABC):
    """What both wrappers are.

    Args:
        mod: the module.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> layer = checkpoint_wrapper(flambeau.nn.Linear(1, 2))
        >>> isinstance(layer, ActivationWrapper), layer.out_features, list(layer.state_dict())
        (True, 2, ['weight', 'bias'])
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_state_dict_post_hook(self._unprefixed)
        self.register_load_state_dict_pre_hook(self._prefixed)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_WRAPPED), name)

    def __getitem__(self, key: Any) -> Any:
        wrapped: Any = self._checkpoint_wrapped_module
        return wrapped[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by the names that they have without a wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    @staticmethod
    def _unprefixed(module: Any, state: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in [name for name in state if name.startswith(prefix + _PREFIX)]:
            state[prefix + name.removeprefix(prefix + _PREFIX)] = state.pop(name)

    @staticmethod
    def _prefixed(module: Any, state: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in [name for name in state if name.startswith(prefix)]:
            state[prefix + _PREFIX + name.removeprefix(prefix)] = state.pop(name)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors wait on the CPU for the gradients.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> OffloadWrapper(flambeau.nn.ReLU())(flambeau.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        with save_on_cpu(pin_memory=False):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that is computed again for the gradients.

    Args:
        mod: the module.
        checkpoint_impl: how.
        checkpoint_fn: what does it, called with the module and its arguments; None:
            `utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: its other arguments.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> layer = CheckpointWrapper(flambeau.nn.Tanh())
        >>> x = flambeau.zeros(1, requires_grad=True)
        >>> layer(x).backward()
        >>> x.grad
        tensor([1.])
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            checkpoint_fn = partial(checkpoint, use_reentrant=reentrant)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def offload_wrapper(module: Module) -> Module:
    """`OffloadWrapper` as a function.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> type(offload_wrapper(flambeau.nn.ReLU())).__name__
        'OffloadWrapper'
    """
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """`CheckpointWrapper` as a function.

    Args:
        module: the module.
        checkpoint_impl, checkpoint_fn, checkpoint_fn_kwargs: as of the class.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> type(checkpoint_wrapper(flambeau.nn.ReLU())).__name__
        'CheckpointWrapper'
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wraps modules inside a model, in place.

    Args:
        model: the model, which is not wrapped itself.
        checkpoint_wrapper_fn: what wraps a module.
        check_fn: says which modules are wrapped.
        auto_wrap_policy: in its place, a policy of `distributed.fsdp.wrap`.

    Example:
        >>> from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import *
        >>> model = flambeau.nn.Sequential(flambeau.nn.Linear(1, 1), flambeau.nn.ReLU())
        >>> is_linear = lambda module: isinstance(module, flambeau.nn.Linear)
        >>> apply_activation_checkpointing(model, check_fn=is_linear)
        >>> [type(layer).__name__ for layer in model]
        ['CheckpointWrapper', 'ReLU']
    """
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    _recursive_wrap(model, policy, checkpoint_wrapper_fn, set(), set(), only_wrap_children=True)
