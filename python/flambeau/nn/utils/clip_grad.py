"""Limiting gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from numbers import Real

import flambeau
from flambeau import Tensor
from flambeau._values import brief, elements

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(elements("clip_grad", tensors))


def _grads(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors together.

    Args:
        tensors: a tensor or several.
        norm_type: p; inf: the largest absolute value.
        error_if_nonfinite: raise RuntimeError if it is NaN or infinite.
        foreach: accepted as PyTorch has it.

    Example:
        >>> flambeau.nn.utils.get_total_norm([flambeau.tensor([3.]), flambeau.tensor([4.])])
        tensor(5.)
    """
    listed = _listed(tensors)
    with flambeau.no_grad():
        if not listed:
            return flambeau.tensor(0.0)
        norm = flambeau.linalg.vector_norm
        # Of a sparse gradient what is zero counts for nothing: its values have its norm.
        strided = [t.coalesce().values() if t.is_sparse else t for t in listed]
        norms = [norm(t, float(norm_type)) for t in strided]
        total = norm(flambeau.stack(norms), float(norm_type)) if len(norms) > 1 else norms[0]
        if error_if_nonfinite and not bool(total.isfinite().item()):
            raise RuntimeError(
                f"the total norm of order {norm_type} is {total.item()}, so gradients cannot be "
                "clipped"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales gradients in place by min(1, max_norm / (total_norm + 1e-6)).

    Args:
        parameters: a tensor or several; those without a gradient are left out.
        max_norm: the largest norm that stays as it is.
        total_norm: of all gradients together.
        foreach: accepted as PyTorch has it.

    Example:
        >>> weight = flambeau.zeros(2, requires_grad=True)
        >>> weight.grad = flambeau.tensor([3., 4.])
        >>> norm = flambeau.nn.utils.get_total_norm([weight.grad])
        >>> flambeau.nn.utils.clip_grads_with_norm_([weight], 1., norm)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    with flambeau.no_grad():
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _grads(parameters):
            grad.mul_(factor.to(grad.dtype))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Gradient clipping: scales gradients in place so that their norm, taken together, is at most
    max_norm.

    Args:
        parameters: a tensor or several; those without a gradient are left out.
        max_norm: the largest norm that stays as it is.
        norm_type: p; inf: the largest absolute value.
        error_if_nonfinite: raise RuntimeError if the norm is NaN or infinite.
        foreach: accepted as PyTorch has it.

    Returns:
        The norm before.

    Example:
        >>> weight = flambeau.zeros(2, requires_grad=True)
        >>> weight.grad = flambeau.tensor([3., 4.])
        >>> flambeau.nn.utils.clip_grad_norm_([weight], max_norm=1.)
        tensor(5.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    listed = _listed(parameters)
    if not isinstance(max_norm, Real | Tensor):
        raise TypeError(f"clip_grad_norm_: max_norm must be a number, got {brief(max_norm)}")
    if not listed and isinstance(parameters, Iterator):
        warnings.warn(
            "clip_grad_norm_: the iterator of parameters gives none, so nothing is clipped (was it "
            "used up before?)",
            stacklevel=2,
        )
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Gradient clipping: limits every element of the gradients to [-clip_value, clip_value], in
    place.

    Args:
        parameters: a tensor or several; those without a gradient are left out.
        clip_value: the limit.
        foreach: accepted as PyTorch has it.

    Example:
        >>> weight = flambeau.zeros(2, requires_grad=True)
        >>> weight.grad = flambeau.tensor([3., -0.5])
        >>> flambeau.nn.utils.clip_grad_value_([weight], clip_value=1.)
        >>> weight.grad
        tensor([ 1.0000, -0.5000])
    """
    with flambeau.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(-float(clip_value), float(clip_value))
