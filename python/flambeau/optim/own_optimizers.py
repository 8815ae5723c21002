"""What optimizers of other people's take from PyTorch's module of the base class."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import flambeau
from flambeau import Tensor

# Parameters as optimizers take them, for annotations.
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

# Parts of docstrings.
_foreach_doc = "foreach (bool, optional): changes nothing."
_fused_doc = "fused (bool, optional): changes nothing."
_capturable_doc = "capturable (bool, optional): changes nothing."
_differentiable_doc = "differentiable (bool, optional): whether steps are recorded."
_maximize_doc = "maximize (bool, optional): go up along gradients."
_params_doc = "params (iterable): parameters, pairs of names and parameters, or groups."


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A step that is recorded where the optimizer's option `differentiable` says so."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with flambeau.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """The number that a tensor of one element holds; anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _dispatch_sqrt(x: Any) -> Any:
    """The root of a number, or of a tensor, as one."""
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


def _stack_if_compiling(x: Any) -> Any:
    """The list itself: programs are not compiled."""
    return x


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Puts views of real numbers into lists, in place of complex tensors."""
    for i, parameter in enumerate(params):
        if parameter.is_complex():
            for members in (params, *state_and_grads):
                members[i] = flambeau.view_as_real(members[i])


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(False, False): a step computes one parameter after the other, unless it says otherwise."""
    return False, False
