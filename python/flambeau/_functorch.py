"""The names of `functorch`, a package that became `torch.func`: programs that are run as torch's
import them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from flambeau import Tensor, nn
from flambeau.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble"]
__all__ += ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp"]
__all__ += ["make_functional", "make_functional_with_buffers", "vjp", "vmap"]


class FunctionalModuleWithBuffers(nn.Module):
    """A module as a function of its parameters, its buffers, and what its forward takes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(model).to("meta")
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        given = dict(zip(self.param_names, params, strict=True))
        given.update(zip(self.buffer_names, buffers, strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """The same of a module without buffers."""

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        return super().forward(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module's function of parameters and buffers, and copies of these.

    Args:
        model: is left as it was.
        disable_autograd_tracking: whether the copies of parameters require no gradients.

    Example:
        >>> f, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(2).eval())
        >>> f(params, buffers, flambeau.zeros(1, 2)).shape, len(params), len(buffers)
        (flambeau.Size([1, 2]), 2, 3)
    """
    own = copy.deepcopy(model)
    params = tuple(own.parameters())
    if disable_autograd_tracking:
        for param in params:
            param.requires_grad_(False)
    return FunctionalModuleWithBuffers(model), params, tuple(own.buffers())


def make_functional(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module's function of its parameters, and copies of these.

    Args:
        model: is left as it was.
        disable_autograd_tracking: whether the copies require no gradients.

    Raises:
        RuntimeError: the module has buffers.

    Example:
        >>> f, params = make_functional(nn.Linear(2, 1))
        >>> f([flambeau.ones(1, 2), flambeau.zeros(1)], flambeau.tensor([3., 4.]))
        tensor([7.])
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            f"make_functional(): {type(model).__name__} has buffers; "
            "use make_functional_with_buffers"
        )
    _, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(model), params


def combine_state_for_ensemble(
    models: Sequence[nn.Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The function of modules of one architecture, their parameters and their buffers, stacked.

    Raises:
        RuntimeError: as `flambeau.func.stack_module_state`.

    Example:
        >>> f, params, buffers = combine_state_for_ensemble([nn.Linear(2, 1) for _ in range(3)])
        >>> vmap(f, in_dims=(0, 0, None))(params, buffers, flambeau.ones(4, 2)).shape
        flambeau.Size([3, 4, 1])
    """
    params, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(models[0]), (*params.values(),), (*buffers.values(),)
