"""Weights that are recomputed before each call, by a forward pre-hook: the former way of
`nn.utils.parametrizations`."""

from __future__ import annotations

from typing import Any, TypeVar

import flambeau
from flambeau import Tensor
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.utils import directions

M = TypeVar("M", bound=Module)


class WeightHook:
    """A forward pre-hook that sets an attribute of a module, computed from others.

    Args:
        name: the attribute.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def compute_weight(self, module: Module) -> Tensor:
        """The attribute."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _replaced_parameter(module: Module, name: str, function: str) -> Tensor:
    """Takes a parameter out of a module, so that the name is free for an attribute."""
    parameter = module._parameters.get(name)
    if parameter is None:
        raise ValueError(f"{function}: {type(module).__name__} has no parameter '{name}'")
    del module._parameters[name]
    return parameter


def _install(module: Module, hook: WeightHook, function: str) -> None:
    for other in (module._forward_pre_hooks or {}).values():
        if isinstance(other, type(hook)) and other.name == hook.name:
            raise RuntimeError(f"{function}: '{hook.name}' is normalized already")
    module.register_forward_pre_hook(hook)


def _uninstalled(module: Module, kind: type[WeightHook], name: str, function: str) -> Any:
    hooks: Any = module._forward_pre_hooks or {}
    for number, hook in list(hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            del hooks[number]
            return hook
    raise ValueError(f"{function}: '{name}' of {type(module).__name__} is not normalized")


class WeightNorm(WeightHook):
    """The hook of `weight_norm`."""

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        direction = getattr(module, f"{self.name}_v")
        return directions.scaled(direction, getattr(module, f"{self.name}_g"), self.dim)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Splits a parameter into lengths and directions: `name_g` and `name_v` (T. Salimans, D.
    Kingma, Weight Normalization, 2016). `nn.utils.parametrizations.weight_norm` is its successor.

    Args:
        module: what has the parameter.
        name: its name.
        dim: the dimension along which lengths are separate; None: one length of everything.

    Raises:
        ValueError: there is no such parameter.
        RuntimeError: it is normalized already.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     layer = flambeau.nn.utils.weight_norm(flambeau.nn.Linear(3, 2))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (flambeau.Size([2, 1]), flambeau.Size([2, 3]))
    """
    hook = WeightNorm(name, dim)
    _install(module, hook, "weight_norm")
    weight = _replaced_parameter(module, name, "weight_norm")
    module.register_parameter(f"{name}_g", Parameter(directions.lengths(weight, hook.dim)))
    module.register_parameter(f"{name}_v", Parameter(weight))
    hook(module, ())
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Makes the weight a parameter again.

    Args:
        module: what has the weight.
        name: of the weight.

    Raises:
        ValueError: it is not normalized.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     layer = flambeau.nn.utils.weight_norm(flambeau.nn.Linear(3, 2))
        >>> layer = flambeau.nn.utils.remove_weight_norm(layer)
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    hook = _uninstalled(module, WeightNorm, name, "remove_weight_norm")
    weight = hook.compute_weight(module)
    for part in (name, f"{name}_g", f"{name}_v"):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight.detach()))
    return module


class SpectralNorm(WeightHook):
    """The hook of `spectral_norm`."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool | None = None) -> Tensor:
        weight, left, right = (getattr(module, self.name + part) for part in ("_orig", "_u", "_v"))
        matrix = directions.as_matrix(weight, self.dim)
        if module.training if do_power_iteration is None else do_power_iteration:
            # The right one first, unlike what parametrizes weights.
            directions.singular_vectors(matrix.t(), right, left, self.n_power_iterations, self.eps)
        value: Tensor = weight / directions.largest_singular_value(matrix, left, right)
        return value


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divides a parameter by its largest singular value (T. Miyato et al., 2018). The parameter
    becomes `name_orig`; the singular vectors are the buffers `name_u` and `name_v`, which each call
    in training mode improves. `nn.utils.parametrizations.spectral_norm` is its successor.

    Args:
        module: what has the parameter.
        name: its name.
        n_power_iterations: steps of the power method in each call.
        eps: least divisor of the vectors.
        dim: the dimension that counts outputs; None: 0, and 1 of transposed convolutions.

    Raises:
        ValueError: there is no such parameter.
        RuntimeError: it is normalized already.

    Example:
        >>> layer = flambeau.nn.utils.spectral_norm(flambeau.nn.Linear(3, 2), n_power_iterations=20)
        >>> _ = layer(flambeau.ones(1, 3))
        >>> print(f"{flambeau.linalg.matrix_norm(layer.weight, 2):.2f}")
        1.00
    """
    dim = directions.output_dim(module) if dim is None else dim
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    _install(module, hook, "spectral_norm")
    weight = _replaced_parameter(module, name, "spectral_norm")
    module.register_parameter(f"{name}_orig", weight)  # type: ignore[arg-type]
    setattr(module, name, weight.detach())
    matrix = directions.as_matrix(weight.detach(), dim)
    left, right = directions.start_singular_vectors(matrix, 0, eps)
    module.register_buffer(f"{name}_u", left)
    module.register_buffer(f"{name}_v", right)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Makes the normalized weight a parameter.

    Args:
        module: what has the weight.
        name: of the weight.

    Raises:
        ValueError: it is not normalized.

    Example:
        >>> layer = flambeau.nn.utils.spectral_norm(flambeau.nn.Linear(3, 2))
        >>> layer = flambeau.nn.utils.remove_spectral_norm(layer)
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    hook = _uninstalled(module, SpectralNorm, name, "remove_spectral_norm")
    with flambeau.no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    for part in (name, f"{name}_orig", f"{name}_u", f"{name}_v"):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight))
    return module
