"""Tensors sent between the devices of a process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.nn.parallel.data_parallel import Device, _device

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced"]
__all__ += ["scatter"]


def broadcast(
    tensor: Tensor,
    devices: Sequence[Device] | None = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """A copy of a tensor on every device.

    Args:
        tensor: what is copied.
        devices: where; ints are of CUDA. On its own device the tensor itself stands for the copy.
        out: tensors that are written instead.

    Raises:
        RuntimeError: both of `devices` and `out` are given, or neither.

    Example:
        >>> flambeau.cuda.comm.broadcast(flambeau.arange(2), ["cpu", "cpu"])
        (tensor([0, 1]), tensor([0, 1]))
    """
    if (devices is None) == (out is None):
        raise RuntimeError("cuda.comm.broadcast(): expected one of devices and out")
    if out is not None:
        return tuple(one.copy_(tensor) for one in out)
    return tuple(tensor.to(_device(device)) for device in devices or ())


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Sequence[Device], buffer_size: int = 10485760
) -> list[list[Tensor]]:
    """Copies of tensors on every device, a list for each.

    Args:
        tensors: what is copied.
        devices: where; ints are of CUDA.
        buffer_size: accepted: each tensor is sent as it is.

    Example:
        >>> flambeau.cuda.comm.broadcast_coalesced([flambeau.arange(2)], ["cpu", "cpu"])
        [[tensor([0, 1])], [tensor([0, 1])]]
    """
    return [[tensor.to(_device(device)) for tensor in tensors] for device in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Device | None = None) -> Tensor:
    """The sum of tensors that lie on several devices.

    Args:
        inputs: tensors of one shape.
        destination: where the sum is; an int is of CUDA; None: where the first tensor is.

    Raises:
        ValueError: there is no tensor, or shapes differ.

    Example:
        >>> flambeau.cuda.comm.reduce_add([flambeau.ones(2), flambeau.ones(2)], "cpu")
        tensor([2., 2.])
    """
    if len({tuple(one.shape) for one in inputs}) != 1:
        shapes = ", ".join(str(tuple(one.shape)) for one in inputs)
        raise ValueError(f"cuda.comm.reduce_add(): expected tensors of one shape, got {shapes}")
    place = inputs[0].device if destination is None else _device(destination)
    total = inputs[0].to(place, copy=True)
    for one in inputs[1:]:
        total += one.to(place)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]],
    destination: Device | None = None,
    buffer_size: int = 10485760,
) -> tuple[Tensor, ...]:
    """`reduce_add` of the first tensors of all devices, of the second ones, and so on.

    Args:
        inputs: a list of tensors for each device.
        destination: where the sums are.
        buffer_size: accepted: each tensor is sent as it is.

    Example:
        >>> flambeau.cuda.comm.reduce_add_coalesced([[flambeau.ones(2)], [flambeau.ones(2)]])
        (tensor([2., 2.]),)
    """
    return tuple(reduce_add(row, destination) for row in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Sequence[Device] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Parts of a tensor, one for each device.

    Args:
        tensor: what is split.
        devices: where the parts are; ints are of CUDA.
        chunk_sizes: how long the parts are; None: alike.
        dim: the dimension that is split.
        streams: accepted: copies are made in the current stream.
        out: tensors that are written instead; their sizes say how long the parts are.

    Raises:
        RuntimeError: both of `devices` and `out` are given, or neither.
        ValueError: there are not as many sizes as devices.

    Example:
        >>> flambeau.cuda.comm.scatter(flambeau.arange(3), ["cpu", "cpu"], chunk_sizes=[1, 2])
        (tensor([0]), tensor([1, 2]))
    """
    if (devices is None) == (out is None):
        raise RuntimeError("cuda.comm.scatter(): expected one of devices and out")
    if out is not None:
        ends = [0]
        for one in out:
            ends.append(ends[-1] + one.shape[dim])
        for one, (start, end) in zip(out, pairwise(ends), strict=True):
            one.copy_(tensor.narrow(dim, start, end - start))
        return tuple(out)
    places = [_device(device) for device in devices or ()]
    if chunk_sizes is not None and len(chunk_sizes) != len(places):
        raise ValueError(
            f"cuda.comm.scatter(): expected a size for each of {len(places)} devices, got "
            f"{len(chunk_sizes)}"
        )
    sizes = None if chunk_sizes is None else list(chunk_sizes)
    parts = tensor.chunk(len(places), dim) if sizes is None else tensor.split(sizes, dim)
    return tuple(part.to(place) for part, place in zip(parts, places, strict=False))


def gather(
    tensors: Sequence[Tensor],
    dim: int = 0,
    destination: Device | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Tensors of several devices joined on one.

    Args:
        tensors: what is joined.
        dim: the dimension along which they are.
        destination: where; an int is of CUDA; None: the current device of CUDA.
        out: a tensor that is written instead.

    Example:
        >>> parts = [flambeau.arange(2), flambeau.arange(2, 4)]
        >>> flambeau.cuda.comm.gather(parts, destination="cpu")
        tensor([0, 1, 2, 3])
    """
    if out is not None:
        return out.copy_(flambeau.cat([one.to(out.device) for one in tensors], dim))
    place = _device("cuda" if destination is None else destination)
    return flambeau.cat([one.to(place) for one in tensors], dim)
