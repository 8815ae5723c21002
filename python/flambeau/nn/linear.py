"""Affine maps."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.module_tree import own_tensor
from flambeau.nn.parameter import Parameter


class Identity(Module):
    """Returns its input; takes any arguments.

    Args:
        args, kwargs: are not looked at, so that it can replace any layer.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Identity(54, unused=True)(flambeau.tensor([1., 2.]))
        tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """input @ weight.T + bias.

    Weights start uniform in +-1 / sqrt(in_features).

    Args:
        in_features, out_features: sizes of the last dimension before and after.
        bias: whether there is one.
        device, dtype: of the parameters.

    Shapes: input (..., in_features), output (..., out_features), weight (out_features,
    in_features), bias (out_features).

    Example:
        >>> layer = flambeau.nn.Linear(4, 2)
        >>> layer(flambeau.ones(3, 4)).shape
        flambeau.Size([3, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        where = {"device": device, "dtype": dtype}
        self.weight = Parameter(flambeau.empty((out_features, in_features), **where))
        if bias:
            self.bias = Parameter(flambeau.empty(out_features, **where))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        return F.linear(input, own_tensor(self, own, "weight"), own_tensor(self, own, "bias"))

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The last projection of MultiheadAttention: a Linear that programs know by this name.

    Example:
        >>> flambeau.nn.MultiheadAttention(4, 2).out_proj
        NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """


class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k] for each output k.

    Args:
        in1_features, in2_features, out_features: sizes of the last dimensions.
        bias: whether there is one.
        device, dtype: of the parameters.

    Shapes: inputs (..., in1_features) and (..., in2_features), output (..., out_features), weight
    (out_features, in1_features, in2_features).

    Example:
        >>> layer = flambeau.nn.Bilinear(4, 3, 2)
        >>> layer(flambeau.ones(5, 4), flambeau.ones(5, 3)).shape
        flambeau.Size([5, 2])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features must be positive, got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        where = {"device": device, "dtype": dtype}
        self.weight = Parameter(flambeau.empty((out_features, in1_features, in2_features), **where))
        if bias:
            self.bias = Parameter(flambeau.empty(out_features, **where))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
