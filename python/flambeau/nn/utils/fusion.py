"""Batch norms in evaluation mode as part of the layer before them."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from flambeau import Tensor, no_grad
from flambeau.nn.batchnorm import _BatchNorm
from flambeau.nn.conv import _ConvNd
from flambeau.nn.linear import Linear
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter

M = TypeVar("M", bound=Module)


@no_grad()
def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    output_dim: int,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of one layer that does what a layer and a batch norm after it do."""
    factor = (variance + eps).rsqrt()
    factor = factor if scale is None else factor * scale
    new_bias = -mean * factor if bias is None else (bias - mean) * factor
    new_bias = new_bias if shift is None else new_bias + shift
    shape = [1] * weight.dim()
    shape[output_dim] = -1
    new_weight = weight * factor.reshape(shape)
    wants_grad = weight.requires_grad if bias is None else bias.requires_grad
    return (
        Parameter(new_weight.to(weight.dtype), weight.requires_grad),
        Parameter(new_bias.to(weight.dtype if bias is None else bias.dtype), wants_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what one and a batch norm after it do.

    Args:
        conv_w, conv_b: of the convolution.
        bn_rm, bn_rv: running mean and variance of the batch norm.
        bn_eps: what is added to the variance.
        bn_w, bn_b: weight and bias of the batch norm, or None.
        transpose: whether the convolution is a transposed one.

    Example:
        >>> conv, norm = flambeau.nn.Conv2d(1, 2, 3), flambeau.nn.BatchNorm2d(2)
        >>> weight, bias = flambeau.nn.utils.fuse_conv_bn_weights(
        ...     conv.weight, conv.bias, norm.running_mean, norm.running_var, norm.eps, None, None
        ... )
        >>> weight.shape, bias.shape
        (flambeau.Size([2, 1, 3, 3]), flambeau.Size([2]))
    """
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, int(transpose))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a Linear that does what one and a batch norm after it do.

    Args:
        linear_w, linear_b: of the Linear.
        bn_rm, bn_rv: running mean and variance of the batch norm.
        bn_eps: what is added to the variance.
        bn_w, bn_b: weight and bias of the batch norm, or None.

    Example:
        >>> weight, bias = flambeau.nn.utils.fuse_linear_bn_weights(
        ...     flambeau.ones(1, 2), None, flambeau.zeros(1), flambeau.tensor([4.]), 0., None, None
        ... )
        >>> weight.detach(), bias.detach()
        (tensor([[0.5000, 0.5000]]), tensor([-0.]))
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _statistics(function: str, layer: Module, bn: _BatchNorm) -> tuple[Any, Any, Any, Any, Any]:
    if layer.training or bn.training:
        raise ValueError(f"{function}: expected both layers in evaluation mode")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError(f"{function}: expected a batch norm with running statistics")
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_eval(conv: M, bn: _BatchNorm, transpose: bool = False) -> M:
    """A copy of a convolution that does what it and a batch norm after it do.

    Args:
        conv: a convolution in evaluation mode.
        bn: a batch norm in evaluation mode, with running statistics.
        transpose: whether the convolution is a transposed one.

    Raises:
        ValueError: for other modes, or a transposed convolution of several groups.

    Example:
        >>> conv, norm = flambeau.nn.Conv2d(1, 2, 3).eval(), flambeau.nn.BatchNorm2d(2).eval()
        >>> fused = flambeau.nn.utils.fuse_conv_bn_eval(conv, norm)
        >>> x = flambeau.randn(1, 1, 5, 5)
        >>> flambeau.allclose(fused(x), norm(conv(x)), atol=1e-5)
        True
    """
    statistics = _statistics("fuse_conv_bn_eval", conv, bn)
    if not isinstance(conv, _ConvNd) or conv.transposed != transpose:
        expected = "transposed" if transpose else "plain"
        raise ValueError(
            f"fuse_conv_bn_eval: expected a {expected} convolution, got {type(conv).__name__}"
        )
    if transpose and conv.groups > 1:
        raise ValueError("fuse_conv_bn_eval: a transposed convolution must have one group")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(conv.weight, conv.bias, *statistics, transpose)
    return fused


def fuse_linear_bn_eval(linear: Linear, bn: _BatchNorm) -> Linear:
    """A copy of a Linear that does what it and a batch norm after it do.

    Args:
        linear: in evaluation mode.
        bn: a batch norm of as many features, or of one, in evaluation mode.

    Raises:
        ValueError: for other modes or features.

    Example:
        >>> linear, norm = flambeau.nn.Linear(3, 2).eval(), flambeau.nn.BatchNorm1d(2).eval()
        >>> fused = flambeau.nn.utils.fuse_linear_bn_eval(linear, norm)
        >>> x = flambeau.randn(4, 3)
        >>> flambeau.allclose(fused(x), norm(linear(x)), atol=1e-5)
        True
    """
    statistics = _statistics("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise ValueError(
            f"fuse_linear_bn_eval: {bn.num_features} features of the batch norm do not fit the "
            f"{linear.out_features} of the Linear"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(linear.weight, linear.bias, *statistics)
    return fused
