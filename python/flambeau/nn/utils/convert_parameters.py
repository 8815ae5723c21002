"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

import flambeau
from flambeau import Tensor
from flambeau._values import elements


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, one parameter after the other.

    Args:
        parameters: tensors of one device and dtype.

    Shapes: output (elements of all parameters).

    Example:
        >>> layer = flambeau.nn.Linear(3, 2)
        >>> flambeau.nn.utils.parameters_to_vector(layer.parameters()).shape
        flambeau.Size([8])
    """
    return flambeau.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of consecutive parts of a vector.

    Args:
        vec: the vector.
        parameters: tensors that together have as many elements.

    Raises:
        TypeError: if `vec` is no Tensor.
        ValueError: if the number of elements differs.

    Example:
        >>> layer = flambeau.nn.Linear(2, 1)
        >>> vector = flambeau.tensor([1., 2., 3.])
        >>> flambeau.nn.utils.vector_to_parameters(vector, layer.parameters())
        >>> layer.weight.detach(), layer.bias.detach()
        (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected a Tensor, got {type(vec).__name__}")
    listed = elements("vector_to_parameters", parameters)
    needed = sum(p.numel() for p in listed)
    if vec.numel() != needed:
        raise ValueError(f"vector_to_parameters: expected {needed} elements, got {vec.numel()}")
    start = 0
    for parameter in listed:
        count = parameter.numel()
        parameter.data = vec[start : start + count].reshape(parameter.shape).data
        start += count
