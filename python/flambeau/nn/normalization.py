"""Normalization within each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import elements
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.module_tree import own_tensor
from flambeau.nn.parameter import Parameter


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(normalized_shape, int):
        return (normalized_shape,)
    return elements("normalized_shape", normalized_shape)


class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions.

    Args:
        normalized_shape: sizes of the dimensions that are normalized over.
        eps: added to the (biased) variance.
        elementwise_affine: whether there is a weight.
        bias: whether there is a bias too.
        device, dtype: of the parameters.

    Shapes: input and output (..., *normalized_shape), weight and bias normalized_shape.

    Equations:
        y = (x - E(x)) / sqrt(Var(x) + eps) * weight + bias

    Source: J. Ba et al., Layer Normalization, 2016.

    Example:
        >>> layer = flambeau.nn.LayerNorm(2)
        >>> layer(flambeau.tensor([[1., 3.]])).detach().round(decimals=2)
        tensor([[-1.,  1.]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        where = {"device": device, "dtype": dtype}
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = Parameter(flambeau.empty(self.normalized_shape, **where))
            if bias:
                self.bias = Parameter(flambeau.empty(self.normalized_shape, **where))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        weight, bias = own_tensor(self, own, "weight"), own_tensor(self, own, "bias")
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions.

    Args:
        normalized_shape: sizes of the dimensions that are normalized over.
        eps: added to the mean square; None: the eps of the input's dtype.
        elementwise_affine: whether there is a weight.
        device, dtype: of the weight.

    Shapes: input and output (..., *normalized_shape), weight normalized_shape.

    Equations:
        y = x / sqrt(E(x**2) + eps) * weight

    Source: B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, 2019.

    Example:
        >>> layer = flambeau.nn.RMSNorm(2)
        >>> layer(flambeau.tensor([[3., 4.]])).detach()  # divided by sqrt(12.5)
        tensor([[0.8485, 1.1314]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(
                flambeau.empty(self.normalized_shape, device=device, dtype=dtype)
            )
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalizes groups of channels of each sample.

    Args:
        num_groups: how many groups the channels are split into.
        num_channels: C, the size of dimension 1.
        eps: added to the (biased) variance.
        affine: whether there is a weight, one number per channel.
        device, dtype: of the parameters.
        bias: whether there is a bias too.

    Shapes: input and output (N, C, ...), weight and bias (C).

    Equations:
        y = (x - E(x)) / sqrt(Var(x) + eps) * weight + bias

    Mean and variance are those of a group of a sample.

    Source: Y. Wu, K. He, Group Normalization, 2018.

    Example:
        >>> layer = flambeau.nn.GroupNorm(num_groups=2, num_channels=4)
        >>> layer(flambeau.tensor([[[1.], [3.], [10.], [30.]]])).detach().round(decimals=2)
        tensor([[[-1.],
                 [ 1.],
                 [-1.],
                 [ 1.]]])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: {num_channels} channels do not divide into {num_groups} groups"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        where = {"device": device, "dtype": dtype}
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if affine:
            self.weight = Parameter(flambeau.empty(num_channels, **where))
            if bias:
                self.bias = Parameter(flambeau.empty(num_channels, **where))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
