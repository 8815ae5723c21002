"""Gradients of convolutions, for functions that define their own derivative.

Each is what a backward pass computes: the product of `grad_output` with the Jacobian of `conv1d`,
`conv2d` or `conv3d`, by the input or by the filters. They have derivatives themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import _C, Tensor
from flambeau.nn import functional

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

Numbers = int | Sequence[int]
_CONVOLUTIONS = (functional.conv1d, functional.conv2d, functional.conv3d)
_TRANSPOSED = (
    functional.conv_transpose1d,
    functional.conv_transpose2d,
    functional.conv_transpose3d,
)


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its input.

    Args:
        input_size: shape of the input, (N, in, L) or (in, L).
        weight: filters, (out, in / groups, K).
        grad_output: gradient of the result, of its shape.
        stride: as `conv1d` was given.
        padding: the same.
        dilation: the same.
        groups: the same.

    Raises:
        RuntimeError: `grad_output` is not of the shape that the convolution gives.

    Example:
        >>> filters = flambeau.tensor([[[1., 10.]]])
        >>> flambeau.nn.grad.conv1d_input((1, 1, 4), filters, flambeau.ones(1, 1, 3))
        tensor([[[ 1., 11., 11., 10.]]])
    """
    how = _How("conv1d_input", stride, padding, dilation, groups)
    return how.by_input(input_size, weight, grad_output)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its filters.

    Args:
        input: (N, in, L) or (in, L).
        weight_size: shape of the filters, (out, in / groups, K).
        grad_output: gradient of the result, of its shape.
        stride: as `conv1d` was given.
        padding: the same.
        dilation: the same.
        groups: the same.

    Raises:
        RuntimeError: `grad_output` is not of the shape that the convolution gives.

    Example:
        >>> signal = flambeau.tensor([[[1., 2., 4., 8.]]])
        >>> flambeau.nn.grad.conv1d_weight(signal, (1, 1, 2), flambeau.ones(1, 1, 3))
        tensor([[[ 7., 14.]]])
    """
    how = _How("conv1d_weight", stride, padding, dilation, groups)
    return how.by_weight(input, weight_size, grad_output)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its input.

    Args:
        input_size: shape of the input, (N, in, H, W) or (in, H, W).
        weight: filters, (out, in / groups, KH, KW).
        grad_output: gradient of the result, of its shape.
        stride: as `conv2d` was given.
        padding: the same.
        dilation: the same.
        groups: the same.

    Raises:
        RuntimeError: `grad_output` is not of the shape that the convolution gives.

    Example:
        >>> images = flambeau.randn(2, 3, 8, 8, requires_grad=True)
        >>> filters, grad_output = flambeau.randn(4, 3, 3, 3), flambeau.randn(2, 4, 6, 6)
        >>> flambeau.nn.functional.conv2d(images, filters).backward(grad_output)
        >>> found = flambeau.nn.grad.conv2d_input(images.shape, filters, grad_output)
        >>> flambeau.allclose(found, images.grad)
        True
    """
    how = _How("conv2d_input", stride, padding, dilation, groups)
    return how.by_input(input_size, weight, grad_output)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its filters.

    Args:
        input: (N, in, H, W) or (in, H, W).
        weight_size: shape of the filters, (out, in / groups, KH, KW).
        grad_output: gradient of the result, of its shape.
        stride: as `conv2d` was given.
        padding: the same.
        dilation: the same.
        groups: the same.

    Raises:
        RuntimeError: `grad_output` is not of the shape that the convolution gives.

    Example:
        >>> images, grad_output = flambeau.randn(2, 3, 8, 8), flambeau.randn(2, 4, 6, 6)
        >>> filters = flambeau.randn(4, 3, 3, 3, requires_grad=True)
        >>> flambeau.nn.functional.conv2d(images, filters).backward(grad_output)
        >>> found = flambeau.nn.grad.conv2d_weight(images, filters.shape, grad_output)
        >>> flambeau.allclose(found, filters.grad, atol=1e-4)
        True
    """
    how = _How("conv2d_weight", stride, padding, dilation, groups)
    return how.by_weight(input, weight_size, grad_output)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its input.

    Args:
        input_size: shape of the input, (N, in, D, H, W) or (in, D, H, W).
        weight: filters, (out, in / groups, KD, KH, KW).
        grad_output: gradient of the result, of its shape.
        stride: as `conv3d` was given.
        padding: the same.
        dilation: the same.
        groups: the same.

    Raises:
        RuntimeError: `grad_output` is not of the shape that the convolution gives.

    Example:
        >>> filters, grad_output = flambeau.ones(1, 2, 1, 1, 1), flambeau.ones(1, 1, 2, 2, 2)
        >>> flambeau.nn.grad.conv3d_input((1, 2, 2, 2, 2), filters, grad_output).sum()
        tensor(16.)
    """
    how = _How("conv3d_input", stride, padding, dilation, groups)
    return how.by_input(input_size, weight, grad_output)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its filters.

    Args:
        input: (N, in, D, H, W) or (in, D, H, W).
        weight_size: shape of the filters, (out, in / groups, KD, KH, KW).
        grad_output: gradient of the result, of its shape.
        stride: as `conv3d` was given.
        padding: the same.
        dilation: the same.
        groups: the same.

    Raises:
        RuntimeError: `grad_output` is not of the shape that the convolution gives.

    Example:
        >>> volumes, grad_output = flambeau.ones(1, 2, 2, 2, 2), flambeau.ones(1, 1, 2, 2, 2)
        >>> flambeau.nn.grad.conv3d_weight(volumes, (1, 2, 1, 1, 1), grad_output).flatten()
        tensor([8., 8.])
    """
    how = _How("conv3d_weight", stride, padding, dilation, groups)
    return how.by_weight(input, weight_size, grad_output)


class _How:
    """What a convolution was given beside its tensors."""

    def __init__(
        self, name: str, stride: Numbers, padding: Numbers, dilation: Numbers, groups: int
    ) -> None:
        self.name = name
        self.dims = int(name[len("conv")])
        self.stride = self._each("stride", stride)
        self.padding = self._each("padding", padding)
        self.dilation = self._each("dilation", dilation)
        self.groups = groups

    def _each(self, argument: str, value: Numbers) -> list[int]:
        """One number for each spatial dim."""
        numbers = [value] * self.dims if isinstance(value, int) else list(value)
        if len(numbers) != self.dims:
            raise RuntimeError(
                f"{self.name}(): {argument} must be an int or {self.dims} of them, got {value!r}"
            )
        return numbers

    def by_input(self, input_size: Sequence[int], weight: Tensor, grad_output: Tensor) -> Tensor:
        self._check(input_size, weight.shape, grad_output.shape)
        transposed = _TRANSPOSED[self.dims - 1]

        def spread(grad: Tensor, filters: Tensor, missing: list[int]) -> Tensor:
            how = (self.stride, self.padding, missing, self.groups, self.dilation)
            return transposed(grad, filters, None, *how)

        # The last places of the input may be in no window.
        reached = spread(
            _without_data(grad_output.shape), _without_data(weight.shape), [0] * self.dims
        ).shape
        sizes = zip(input_size[-self.dims :], reached[-self.dims :], strict=True)
        return spread(grad_output, weight.conj(), [size - least for size, least in sizes])

    def by_weight(self, input: Tensor, weight_size: Sequence[int], grad_output: Tensor) -> Tensor:
        self._check(input.shape, weight_size, grad_output.shape)
        size, images = list(weight_size), input.conj()
        if self.dims == 3:
            return self._of_volumes(input, size, grad_output)
        line = self.dims == 1  # an image of one row
        if line:
            images, grad_output = images.unsqueeze(-2), grad_output.unsqueeze(-2)
            size.insert(2, 1)
        found = _C._internal.conv2d_weight_grad(
            grad_output,
            images,
            size,
            [1] * line + self.stride,
            [0] * line + self.padding,
            [1] * line + self.dilation,
            self.groups,
        )
        return found.squeeze(2) if line else found

    def _of_volumes(self, input: Tensor, weight_size: list[int], grad_output: Tensor) -> Tensor:
        """Convolutions of volumes are made of those of images, and so are their derivatives."""
        is_recorded = flambeau.is_grad_enabled()
        weight = grad_output.new_zeros(weight_size).requires_grad_()
        with flambeau.enable_grad():
            result = functional.conv3d(
                input, weight, None, self.stride, self.padding, self.dilation, self.groups
            )
            found = flambeau.autograd.grad(result, weight, grad_output, create_graph=is_recorded)
        return found[0]

    def _check(
        self, input: Sequence[int], weight: Sequence[int], grad_output: Sequence[int]
    ) -> None:
        """RuntimeError: shapes are not those of one convolution."""
        how = (self.stride, self.padding, self.dilation, self.groups)
        images, filters = _without_data(input), _without_data(weight)
        try:
            expected = _CONVOLUTIONS[self.dims - 1](images, filters, None, *how).shape
        except RuntimeError as error:
            raise RuntimeError(f"{self.name}(): shapes of no convolution: {error}") from None
        if grad_output != expected:
            raise RuntimeError(
                f"{self.name}(): grad_output must have the shape of the result, {tuple(expected)} "
                f"for input {tuple(input)}, weight {tuple(weight)}, groups {self.groups}, "
                f"got {tuple(grad_output)}"
            )


def _without_data(shape: Sequence[int]) -> Tensor:
    return flambeau.empty(list(shape), device="meta")
