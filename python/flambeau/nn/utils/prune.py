"""Pruning: parameters times masks of 0 and 1, which say what is left of them.

A pruned parameter NAME becomes `NAME_orig` (the parameter), `NAME_mask` (a buffer) and the
attribute NAME, their product, which a forward pre-hook computes before each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.nn.module import Module
from flambeau.nn.utils.pruning_methods import (
    Amount,
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    _method_of,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Gives a parameter a mask of ones; see Identity.

    Args:
        module: what has the parameter.
        name: of the parameter.

    Returns:
        The module.

    Example:
        >>> from flambeau.nn.utils.prune import identity
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer = identity(layer, "weight")
        >>> layer.weight_mask.sum()
        tensor(8.)
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Prunes random elements of a parameter; see RandomUnstructured.

    Args:
        module: what has the parameter.
        name: of the parameter.
        amount: how many (an int), or which share of them (a float in [0, 1]).

    Returns:
        The module.

    Example:
        >>> from flambeau.nn.utils.prune import random_unstructured
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer = random_unstructured(layer, "weight", amount=0.25)
        >>> layer.weight_mask.sum()
        tensor(6.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the elements of a parameter that matter least; see L1Unstructured.

    Args:
        module: what has the parameter.
        name: of the parameter.
        amount: how many (an int), or which share of them (a float in [0, 1]).
        importance_scores: how much each matters; None: its magnitude.

    Returns:
        The module.

    Example:
        >>> from flambeau.nn.utils.prune import l1_unstructured
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer = l1_unstructured(layer, "weight", amount=3)
        >>> layer.weight_mask.sum()
        tensor(5.)
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Amount, dim: int) -> Module:
    """Prunes random slices of a parameter; see RandomStructured.

    Args:
        module: what has the parameter.
        name: of the parameter.
        amount: how many (an int), or which share of them (a float in [0, 1]).
        dim: the dimension that counts the slices.

    Returns:
        The module.

    Example:
        >>> from flambeau.nn.utils.prune import random_structured
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer = random_structured(layer, "weight", amount=1, dim=0)
        >>> layer.weight_mask.sum(1).sort().values
        tensor([0., 4.])
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: Amount,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prunes the slices of a parameter whose norms are least; see LnStructured.

    Args:
        module: what has the parameter.
        name: of the parameter.
        amount: how many (an int), or which share of them (a float in [0, 1]).
        n: order of the norm.
        dim: the dimension that counts the slices.
        importance_scores: what norms are taken of; None: the parameter.

    Returns:
        The module.

    Example:
        >>> from flambeau.nn.utils.prune import ln_structured
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer = ln_structured(layer, "weight", amount=1, n=2, dim=0)
        >>> layer.weight_mask.sum(1).sort().values
        tensor([0., 4.])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter by a mask; see CustomFromMask.

    Args:
        module: what has the parameter.
        name: of the parameter.
        mask: of its shape; what is 0 goes.

    Returns:
        The module.

    Example:
        >>> from flambeau.nn.utils.prune import custom_from_mask
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer = custom_from_mask(layer, "weight", mask=flambeau.eye(2, 4))
        >>> layer.weight_mask
        tensor([[1., 0., 0., 0.],
                [0., 1., 0., 0.]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters as if they were one vector.

    Args:
        parameters: (module, name) pairs.
        pruning_method: an unstructured one, as L1Unstructured.
        importance_scores: the importance of each element, by (module, name); others count by their
            values.
        kwargs: what the method is made with, as amount.

    Raises:
        TypeError: for what is no list of pairs, or a structured method.

    Example:
        >>> from flambeau.nn.utils.prune import L1Unstructured, global_unstructured
        >>> first, second = flambeau.nn.Linear(4, 2), flambeau.nn.Linear(2, 2)
        >>> global_unstructured([(first, "weight"), (second, "weight")], L1Unstructured, amount=6)
        >>> first.weight_mask.sum() + second.weight_mask.sum()  # of 12
        tensor(6.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured: expected (module, name) pairs")
    pairs = list(parameters)
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError(
            f"global_unstructured: importance_scores must be a dict, got {type(given).__name__}"
        )
    scores = [given.get((m, name), getattr(m, name)).detach() for m, name in pairs]
    container = PruningContainer()
    container._tensor_name = "parameters"
    method = pruning_method(**kwargs)
    method._tensor_name = "parameters"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global_unstructured: expected an unstructured method, got {pruning_method.__name__}"
        )
    container.add_pruning_method(method)
    masks = [
        getattr(module, f"{name}_mask", flambeau.ones_like(getattr(module, name)))
        for module, name in pairs
    ]
    mask = container.compute_mask(
        flambeau.cat([t.flatten() for t in scores]), flambeau.cat([t.flatten() for t in masks])
    )
    start = 0
    for (module, name), score in zip(pairs, scores, strict=True):
        part = mask[start : start + score.numel()]
        custom_from_mask(module, name, part.reshape(score.shape))
        start += score.numel()


def remove(module: Module, name: str) -> Module:
    """Makes the pruned tensor the parameter, and takes the mask and the hook away.

    Args:
        module: what has the parameter.
        name: of the parameter.

    Returns:
        The module.

    Raises:
        ValueError: the parameter is not pruned.

    Example:
        >>> from flambeau.nn.utils.prune import l1_unstructured, remove
        >>> layer = l1_unstructured(flambeau.nn.Linear(4, 1), "weight", amount=2)
        >>> layer = remove(layer, "weight")
        >>> (layer.weight == 0).sum()
        tensor(2)
    """
    method = _method_of(module, name)
    hooks: Any = module._forward_pre_hooks
    if method is None:
        raise ValueError(f"remove: '{name}' of {type(module).__name__} is not pruned")
    method.remove(module)
    for number in [n for n, hook in hooks.items() if hook is method]:
        del hooks[number]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned.

    Args:
        module: the module.

    Raises:
        TypeError: for what is no module.

    Example:
        >>> from flambeau.nn.utils.prune import is_pruned
        >>> is_pruned(flambeau.nn.Linear(4, 1))
        False
    """
    if not isinstance(module, Module):
        raise TypeError(f"is_pruned: expected a Module, got {type(module).__name__}")
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in (part._forward_pre_hooks or {}).values()
    )
