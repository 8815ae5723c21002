"""Lazy forms of layers: the number of features or channels comes with the first input."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor
from flambeau.nn import init
from flambeau.nn.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from flambeau.nn.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Sizes,
)
from flambeau.nn.lazy import LazyModuleMixin
from flambeau.nn.linear import Linear
from flambeau.nn.parameter import UninitializedBuffer, UninitializedParameter


class _LazyLayer(LazyModuleMixin):
    """A layer that was made for 0 features, whose tensors then forget their shapes."""

    # Name of the attribute that counts the features of the input.
    _feature_count: str

    def _forget_shapes(self) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = UninitializedParameter(
                    parameter.requires_grad, parameter.device, parameter.dtype
                )
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.dim():
                self._buffers[name] = UninitializedBuffer(
                    buffer.requires_grad, buffer.device, buffer.dtype
                )

    def _features_of(self, input: Tensor) -> int:
        """How many features an input has."""
        raise NotImplementedError

    def _shape_of(self, name: str) -> Any:
        """The shape of a parameter or buffer, when the features are known."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draws new weights, once they have a shape."""
        if getattr(self, self._feature_count) and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *others: Any, **keywords: Any) -> None:
        """Takes the number of features from an input and draws weights of its shape.

        A state that was loaded keeps its values.
        """
        if not getattr(self, self._feature_count):
            setattr(self, self._feature_count, self._features_of(input))
        if self.has_uninitialized_params():
            for name, tensor in (*self._parameters.items(), *self._buffers.items()):
                if isinstance(tensor, UninitializedParameter | UninitializedBuffer):
                    tensor.materialize(self._shape_of(name))
            self.reset_parameters()
            if not getattr(self, self._feature_count):  # nothing to draw by
                for parameter in self._parameters.values():
                    if parameter is not None:
                        init.zeros_(parameter)


class LazyLinear(_LazyLayer, Linear):
    """A Linear whose in_features the first input says; other arguments and shapes are those of
    Linear.

    Example:
        >>> layer = flambeau.nn.LazyLinear(2)
        >>> layer(flambeau.ones(3, 4)).shape
        flambeau.Size([3, 2])
        >>> layer.in_features
        4
    """

    cls_to_become = Linear
    _feature_count = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, out_features, bias, device, dtype)
        self._forget_shapes()

    def _features_of(self, input: Tensor) -> int:
        return input.shape[-1]

    def _shape_of(self, name: str) -> Any:
        return (self.out_features, self.in_features) if name == "weight" else self.out_features


class _LazyConvNd(_LazyLayer):
    _feature_count = "in_channels"
    rank: int
    out_channels: int

    def _features_of(self, input: Tensor) -> int:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected {self.rank + 1} or {self.rank + 2} dimensions, "
                f"got shape {tuple(input.shape)}"
            )
        return input.shape[-self.rank - 1]

    def _shape_of(self, name: str) -> Any:
        return self._weight_shape() if name == "weight" else self.out_channels


class _LazyConv(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip
        self._forget_shapes()


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d whose in_channels the first input says; other arguments and shapes are those of
    Conv1d.

    Example:
        >>> layer = flambeau.nn.LazyConv1d(4, kernel_size=3)
        >>> layer(flambeau.ones(1, 2, 9)).shape
        flambeau.Size([1, 4, 7])
        >>> layer.in_channels
        2
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d whose in_channels the first input says; other arguments and shapes are those of
    Conv2d.

    Example:
        >>> layer = flambeau.nn.LazyConv2d(4, kernel_size=3)
        >>> layer(flambeau.ones(1, 2, 9, 9)).shape
        flambeau.Size([1, 4, 7, 7])
        >>> layer.in_channels
        2
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d whose in_channels the first input says; other arguments and shapes are those of
    Conv3d.

    Example:
        >>> layer = flambeau.nn.LazyConv3d(4, kernel_size=3)
        >>> layer(flambeau.ones(1, 2, 9, 9, 9)).shape
        flambeau.Size([1, 4, 7, 7, 7])
        >>> layer.in_channels
        2
    """

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._forget_shapes()


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels the first input says; other arguments and shapes are
    those of ConvTranspose1d.

    Example:
        >>> layer = flambeau.nn.LazyConvTranspose1d(4, kernel_size=3)
        >>> layer(flambeau.ones(1, 2, 3)).shape
        flambeau.Size([1, 4, 5])
        >>> layer.in_channels
        2
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels the first input says; other arguments and shapes are
    those of ConvTranspose2d.

    Example:
        >>> layer = flambeau.nn.LazyConvTranspose2d(4, kernel_size=3)
        >>> layer(flambeau.ones(1, 2, 3, 3)).shape
        flambeau.Size([1, 4, 5, 5])
        >>> layer.in_channels
        2
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels the first input says; other arguments and shapes are
    those of ConvTranspose3d.

    Example:
        >>> layer = flambeau.nn.LazyConvTranspose3d(4, kernel_size=3)
        >>> layer(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 4, 5, 5, 5])
        >>> layer.in_channels
        2
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(_LazyLayer):
    _feature_count = "num_features"
    num_features: int

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._forget_shapes()

    def _features_of(self, input: Tensor) -> int:
        self._check(input)
        return input.shape[self._channel_dim(input)]

    def _shape_of(self, name: str) -> Any:
        return self.num_features


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d whose num_features the first input says; other arguments and shapes are those
    of BatchNorm1d.

    Example:
        >>> layer = flambeau.nn.LazyBatchNorm1d()
        >>> layer(flambeau.ones(2, 3, 4)).shape
        flambeau.Size([2, 3, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d whose num_features the first input says; other arguments and shapes are those
    of BatchNorm2d.

    Example:
        >>> layer = flambeau.nn.LazyBatchNorm2d()
        >>> layer(flambeau.ones(2, 3, 4, 4)).shape
        flambeau.Size([2, 3, 4, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d whose num_features the first input says; other arguments and shapes are those
    of BatchNorm3d.

    Example:
        >>> layer = flambeau.nn.LazyBatchNorm3d()
        >>> layer(flambeau.ones(2, 3, 4, 4, 4)).shape
        flambeau.Size([2, 3, 4, 4, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d whose num_features the first input says; other arguments and shapes are
    those of InstanceNorm1d.

    Example:
        >>> layer = flambeau.nn.LazyInstanceNorm1d()
        >>> layer(flambeau.ones(2, 3, 4)).shape
        flambeau.Size([2, 3, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d whose num_features the first input says; other arguments and shapes are
    those of InstanceNorm2d.

    Example:
        >>> layer = flambeau.nn.LazyInstanceNorm2d()
        >>> layer(flambeau.ones(2, 3, 4, 4)).shape
        flambeau.Size([2, 3, 4, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An InstanceNorm3d whose num_features the first input says; other arguments and shapes are
    those of InstanceNorm3d.

    Example:
        >>> layer = flambeau.nn.LazyInstanceNorm3d()
        >>> layer(flambeau.ones(2, 3, 4, 4, 4)).shape
        flambeau.Size([2, 3, 4, 4, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = InstanceNorm3d
