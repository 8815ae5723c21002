"""Normalization over the samples of a batch, and over the pixels of each sample."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.module_tree import own_tensor
from flambeau.nn.parameter import Parameter


class _Norm(Module):
    """Affine parameters and running statistics of `num_features` channels."""

    # States of version 1 do not count batches.
    _version = 2
    ranks: tuple[int, ...] = ()
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        where = {"device": device, "dtype": dtype}
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if affine:
            self.weight = Parameter(flambeau.empty(num_features, **where))
            if bias:
                self.bias = Parameter(flambeau.empty(num_features, **where))
        if track_running_stats:
            self.register_buffer("running_mean", flambeau.zeros(num_features, **where))
            self.register_buffer("running_var", flambeau.ones(num_features, **where))
            count = flambeau.tensor(0, dtype=flambeau.int64, device=device)
            self.register_buffer("num_batches_tracked", count)
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets the statistics seen so far."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, no statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Mapping[str, Any],
        *others: Any,
    ) -> None:
        counter = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats:
            state_dict.setdefault(counter, flambeau.tensor(0, dtype=flambeau.int64))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def _check(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            expected = " or ".join(map(str, self.ranks))
            raise ValueError(
                f"{type(self).__name__}: expected {expected} dimensions, got shape "
                f"{tuple(input.shape)}"
            )

    def _channel_dim(self, input: Tensor) -> int:
        return 1

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Norm):
    """What BatchNorm layers have in common."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        buffers, parameters = self._buffers, self._parameters
        mean = own_tensor(self, buffers, "running_mean")
        variance = own_tensor(self, buffers, "running_var")
        from_batch = self.training or mean is None
        if self.eps < 0 or (from_batch and self.eps == 0):
            wanted = "positive for statistics of the batch" if from_batch else "at least 0"
            raise ValueError(f"{type(self).__name__}: eps must be {wanted}, got {self.eps}")
        if self.training and self.track_running_stats:
            counter = own_tensor(self, buffers, "num_batches_tracked")
            if counter is not None:
                counter.add_(1)
                if self.momentum is None:
                    momentum = 1.0 / counter.item()
        if not self.training or self.track_running_stats:
            used_mean, used_variance = mean, variance
        else:
            used_mean = used_variance = None
        return self._normalize(
            input, used_mean, used_variance, own_tensor(self, parameters, "weight"),
            own_tensor(self, parameters, "bias"), from_batch, momentum, self.eps,
        )  # fmt: skip

    def _normalize(self, input: Tensor, *args: Any) -> Tensor:
        return F.batch_norm(input, *args)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of features or signals; equation and arguments are those of BatchNorm2d.

    Shapes: input (N, num_features) or (N, num_features, L), output alike.

    Example:
        >>> layer = flambeau.nn.BatchNorm1d(1)
        >>> layer(flambeau.tensor([[1.], [3.]])).detach().round(decimals=2)
        tensor([[-1.],
                [ 1.]])
        >>> layer.running_mean  # a tenth of the way from 0 to 2
        tensor([0.2000])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images: per channel, (x - mean) / sqrt(var + eps) * weight + bias.

    In training mean and biased variance are those of the batch, and running statistics move towards
    them (the unbiased variance); in evaluation the running statistics are used.

    Args:
        num_features: C, the number of channels.
        eps: added to the variance.
        momentum: weight of a new batch in the running statistics; None: their plain average.
        affine: whether there is a weight.
        track_running_stats: False: always use the batch's statistics.
        device, dtype: of the parameters and the statistics.
        bias: whether there is a bias too.

    Shapes: input (N, C, H, W), output alike; weight, bias, running_mean and running_var (C).

    Equations:
        y = (x - E(x)) / sqrt(Var(x) + eps) * weight + bias
        running_mean = (1 - momentum) * running_mean + momentum * E(x)

    Source: S. Ioffe, C. Szegedy, Batch Normalization, 2015.

    Example:
        >>> layer = flambeau.nn.BatchNorm2d(3)
        >>> result = layer(flambeau.randn(4, 3, 8, 8) * 5 + 2)
        >>> result.mean((0, 2, 3)).abs() < 1e-5
        tensor([True, True, True])
        >>> result.var((0, 2, 3), correction=0).detach()
        tensor([1.0000, 1.0000, 1.0000])
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes; equation and arguments are those of BatchNorm2d.

    Shapes: input (N, num_features, D, H, W), output alike.

    Example:
        >>> layer = flambeau.nn.BatchNorm3d(2)
        >>> layer(flambeau.randn(3, 2, 4, 4, 4)).mean((0, 2, 3, 4)).abs() < 1e-5
        tensor([True, True])
    """

    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, ...), whose statistics in training are those of all processes
    of a group, as if their batches were one. Without a group it is BatchNorm2d.
    The other arguments are those of BatchNorm2d.

    Args:
        process_group: of processes; None: all, once `distributed.init_process_group` was called.

    Raises:
        ValueError: process_group is something else.

    Shapes: input (N, num_features, ...), output alike.

    Example:
        >>> layer = flambeau.nn.SyncBatchNorm(2)
        >>> layer(flambeau.randn(3, 2, 4)).shape
        flambeau.Size([3, 2, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        if process_group is not None:
            from flambeau.distributed import ProcessGroup

            if not isinstance(process_group, ProcessGroup):
                raise ValueError(
                    "SyncBatchNorm: process_group must be None or a ProcessGroup, got a "
                    f"{type(process_group).__name__}"
                )
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _normalize(self, input: Tensor, *args: Any) -> Tensor:
        from flambeau import distributed

        if not self.training or not distributed.is_initialized():
            return super()._normalize(input, *args)
        if distributed.get_world_size(self.process_group) <= 1:
            return super()._normalize(input, *args)
        from flambeau.distributed.world import member
        from flambeau.nn.parallel.shared_statistics import batch_norm

        mean, variance, weight, bias, _, momentum, eps = args
        group = member(self.process_group)
        assert group is not None
        return batch_norm(input, mean, variance, weight, bias, momentum, eps, group)

    def _check(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(
                f"SyncBatchNorm: expected at least 2 dimensions, got shape {tuple(input.shape)}"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with a SyncBatchNorm in the place of every batch norm, of the same tensors.

        Args:
            module: a batch norm, which is replaced, or a module that holds some, which is changed.
            process_group: as of SyncBatchNorm.
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            result._parameters.update(module._parameters)
            result._buffers.update(module._buffers)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _InstanceNorm(_Norm):
    """What InstanceNorm layers have in common."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def _channel_dim(self, input: Tensor) -> int:
        return 0 if input.dim() == self.ranks[0] else 1

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        channels = self._channel_dim(input)
        if input.shape[channels] != self.num_features and self.weight is None:
            warnings.warn(
                f"{type(self).__name__}: expected num_features={self.num_features} channels in dim "
                f"{channels}, got shape {tuple(input.shape)}",
                stacklevel=3,
            )
        single = channels == 0
        result = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if single else result


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of signals; equation and arguments are those of InstanceNorm2d.

    Shapes: input (N, num_features, L) or (num_features, L), output alike.

    Example:
        >>> layer = flambeau.nn.InstanceNorm1d(1)
        >>> layer(flambeau.tensor([[[1., 3.]], [[10., 30.]]])).round(decimals=2)
        tensor([[[-1.,  1.]],
        <BLANKLINE>
                [[-1.,  1.]]])
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalization of each channel of each image: (x - mean) / sqrt(var + eps).

    Args:
        num_features: C, the number of channels.
        eps: added to the variance.
        momentum: weight of a new batch in the running statistics.
        affine: whether there is a weight; off by default.
        track_running_stats: keep running statistics and use them in evaluation.
        device, dtype: of the parameters and the statistics.
        bias: whether there is a bias too.

    Shapes: input (N, C, H, W) or (C, H, W), output alike; weight and bias (C).

    Equations:
        y = (x - E(x)) / sqrt(Var(x) + eps) * weight + bias

    Source: D. Ulyanov et al., Instance Normalization, 2016.

    Example:
        >>> layer = flambeau.nn.InstanceNorm2d(3)
        >>> layer(flambeau.randn(4, 3, 8, 8) * 5 + 2).var((2, 3), correction=0)
        tensor([[1.0000, 1.0000, 1.0000],
                [1.0000, 1.0000, 1.0000],
                [1.0000, 1.0000, 1.0000],
                [1.0000, 1.0000, 1.0000]])
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes; equation and arguments are those of InstanceNorm2d.

    Shapes: input (N, num_features, D, H, W) or (num_features, D, H, W), output alike.

    Example:
        >>> layer = flambeau.nn.InstanceNorm3d(2)
        >>> layer(flambeau.randn(1, 2, 3, 3, 3)).mean((2, 3, 4)).abs() < 1e-5
        tensor([[True, True]])
    """

    ranks = (4, 5)
