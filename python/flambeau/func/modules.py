"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.utils.stateless import functional_call as _call_one

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: nn.Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The result of a module whose parameters and buffers are those of a dict, or of several.

    Args:
        module: what is called; it is left as it was.
        parameter_and_buffer_dicts: tensors by dotted name.
        args: the argument of the call, or a tuple of them.
        kwargs: keyword arguments of the call.
        tie_weights: a tensor that the module has under several names is replaced under all of them.
        strict: whether every parameter and buffer must be given, and nothing else.

    Raises:
        ValueError: two dicts have one name.

    Example:
        >>> layer = flambeau.nn.Linear(2, 1)
        >>> weights = {"weight": flambeau.ones(1, 2), "bias": flambeau.zeros(1)}
        >>> flambeau.func.functional_call(layer, weights, flambeau.tensor([3., 4.]))
        tensor([7.])
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        merged: dict[str, Tensor] = {}
        for part in given:
            repeated = merged.keys() & part.keys()
            if repeated:
                raise ValueError(
                    f"functional_call(): several dicts have the names {sorted(repeated)}"
                )
            merged.update(part)
        given = merged
    return _call_one(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(
    models: Sequence[nn.Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one architecture, each stacked along a new first
    dim, for `vmap` over an ensemble.

    Args:
        models: the modules.

    Returns:
        Two dicts of tensors (len(models), *shape) by name.

    Raises:
        RuntimeError: there is no module, they are of several classes, or some are in training mode
            and others are not.

    Example:
        >>> models = [flambeau.nn.Linear(2, 1) for _ in range(3)]
        >>> parameters, buffers = flambeau.func.stack_module_state(models)
        >>> parameters["weight"].shape
        flambeau.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state(): expected at least one module")
    first = models[0]
    if any(type(model) is not type(first) for model in models):
        raise RuntimeError("stack_module_state(): expected modules of one class")
    if any(model.training != first.training for model in models):
        raise RuntimeError("stack_module_state(): some modules are in training mode, others not")
    parameters = {
        name: _stacked([dict(model.named_parameters())[name] for model in models])
        for name, _ in first.named_parameters()
    }
    buffers = {
        name: _stacked([dict(model.named_buffers())[name] for model in models])
        for name, _ in first.named_buffers()
    }
    return parameters, buffers


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    """A leaf that requires gradients as the tensors do."""
    with flambeau.no_grad():
        joined = flambeau.stack([t.detach() for t in tensors])
    return joined.requires_grad_(tensors[0].requires_grad)


def replace_all_batch_norm_modules_(root: nn.Module) -> nn.Module:
    """Lets every batch norm below a module forget its running statistics and use those of batches,
    in place: samples that are mapped one by one have none in common.

    Args:
        root: the module.

    Returns:
        The module.

    Example:
        >>> model = flambeau.nn.Sequential(flambeau.nn.Linear(2, 3), flambeau.nn.BatchNorm1d(3))
        >>> model = flambeau.func.replace_all_batch_norm_modules_(model)
        >>> print(model[1].running_mean)
        None
    """
    for module in root.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
