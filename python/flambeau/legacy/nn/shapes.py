"""Tensors cut, turned, joined and summed up; tables taken apart."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F
from flambeau.utils._pytree import tree_leaves


class View(Module):
    """The input in another shape; one size may be -1.

    Example:
        >>> module = flambeau.legacy.nn.View(-1)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        tensor([1., 2., 3., 4.])
    """

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def compute(self, input: Tensor) -> Tensor:
        return input.view(self.sizes)


class Reshape(Module):
    """Every sample of a batch in another shape.

    Example:
        >>> module = flambeau.legacy.nn.Reshape(2, 3)
        >>> module.forward(flambeau.ones(4, 6)).shape
        flambeau.Size([4, 2, 3])
    """

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def compute(self, input: Tensor) -> Tensor:
        return input.reshape(input.shape[0], *self.sizes)


class Narrow(Module):
    """`length` places of a dim from `offset` on; a negative length counts from the end.

    Example:
        >>> module = flambeau.legacy.nn.Narrow(0, 1, 2)
        >>> module.forward(flambeau.tensor([1., 2., 3.]))
        tensor([2., 3.])
    """

    dimension: int
    offset: int
    length: int = 1

    def compute(self, input: Tensor) -> Tensor:
        rest = input.shape[self.dimension] - self.offset + 1 + self.length
        return input.narrow(self.dimension, self.offset, self.length if self.length >= 0 else rest)


class Select(Module):
    """One place of a dim, which goes.

    Example:
        >>> module = flambeau.legacy.nn.Select(0, 1)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        tensor([3., 4.])
    """

    dimension: int
    index: int

    def compute(self, input: Tensor) -> Tensor:
        return input.select(self.dimension, self.index)


class Squeeze(Module):
    """Without a dim of size 1, or without all of them.

    Example:
        >>> module = flambeau.legacy.nn.Squeeze()
        >>> module.forward(flambeau.ones(2, 1)).shape
        flambeau.Size([2])
    """

    dim: int | None = None

    def compute(self, input: Tensor) -> Tensor:
        return input.squeeze() if self.dim is None else input.squeeze(self.dim)


class Unsqueeze(Module):
    """With a dim of size 1 more.

    Example:
        >>> module = flambeau.legacy.nn.Unsqueeze(0)
        >>> module.forward(flambeau.tensor([1., 2.]))
        tensor([[1., 2.]])
    """

    pos: int

    def compute(self, input: Tensor) -> Tensor:
        return input.unsqueeze(self.pos)


class Transpose(Module):
    """Exchanges pairs of dims, one after another.

    Example:
        >>> module = flambeau.legacy.nn.Transpose((0, 1))
        >>> module.forward(flambeau.ones(2, 3)).shape
        flambeau.Size([3, 2])
    """

    def __init__(self, *permutations: tuple[int, int]) -> None:
        self.permutations = permutations

    def compute(self, input: Tensor) -> Tensor:
        for first, second in self.permutations:
            input = input.transpose(first, second)
        return input.contiguous()


class Replicate(Module):
    """The input `nf` times along a new dim.

    Example:
        >>> module = flambeau.legacy.nn.Replicate(2)
        >>> module.forward(flambeau.tensor([1., 2.]))
        tensor([[1., 2.],
                [1., 2.]])
    """

    nf: int
    dim: int = 0

    def compute(self, input: Tensor) -> Tensor:
        return flambeau.stack([input] * self.nf, self.dim)


class Padding(Module):
    """`abs(pad)` places of a value more along a dim.

    Args:
        dim: which; of a batch, whose samples have `nInputDim` dims, one further.
        pad: how many; before the first where negative, after the last where positive.
        value: what they hold.
        index: how far from that end they are put in.
        nInputDim: the dims of a sample; 0: the input is no batch.

    Example:
        >>> module = flambeau.legacy.nn.Padding(0, 2)
        >>> module.forward(flambeau.tensor([1.]))
        tensor([1., 0., 0.])
    """

    dim: int
    pad: int
    value: float = 0
    index: int = 0
    nInputDim: int = 0

    def compute(self, input: Tensor) -> Tensor:
        dim = self.dim + (self.nInputDim != 0 and input.dim() != self.nInputDim)
        sizes = list(input.shape)
        sizes[dim] = abs(self.pad)
        before = self.index if self.pad < 0 else input.shape[dim] - self.index
        first, second = input.tensor_split([before], dim)
        return flambeau.cat([first, input.new_full(sizes, self.value), second], dim)


class Index(Module):
    """Places of a dim: of a table [tensor, int64 vector].

    Example:
        >>> module = flambeau.legacy.nn.Index(0)
        >>> module.forward([flambeau.tensor([1., 2., 3.]), flambeau.tensor([2, 0])])
        tensor([3., 1.])
    """

    dimension: int

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0].index_select(self.dimension, input[1])


class MaskedSelect(Module):
    """The elements where a mask is true, as a vector: of a table [tensor, mask].

    Example:
        >>> module = flambeau.legacy.nn.MaskedSelect()
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([True, False])])
        tensor([1.])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0][input[1].bool()]


class Max(Module):
    """The largest elements along a dim; `indices` are their places.

    Example:
        >>> module = flambeau.legacy.nn.Max(0)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        tensor([3., 4.])
    """

    dimension: int = 0

    def compute(self, input: Tensor) -> Tensor:
        values, self.indices = input.max(self.dimension)
        return values


class Min(Module):
    """The smallest elements along a dim; `indices` are their places.

    Example:
        >>> module = flambeau.legacy.nn.Min(0)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        tensor([1., 2.])
    """

    dimension: int = 0

    def compute(self, input: Tensor) -> Tensor:
        values, self.indices = input.min(self.dimension)
        return values


class Mean(Module):
    """Means along a dim, which goes if `squeeze` is true.

    Example:
        >>> module = flambeau.legacy.nn.Mean(0)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        tensor([2., 3.])
    """

    dimension: int = 0
    squeeze: bool = True

    def compute(self, input: Tensor) -> Tensor:
        return input.mean(self.dimension, keepdim=not self.squeeze)


class Sum(Module):
    """Sums along a dim, or means, if `sizeAverage` is true.

    Example:
        >>> module = flambeau.legacy.nn.Sum(0)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        tensor([4., 6.])
    """

    dimension: int = 0
    sizeAverage: bool = False
    squeeze: bool = True

    def compute(self, input: Tensor) -> Tensor:
        reduce = input.mean if self.sizeAverage else input.sum
        return reduce(self.dimension, keepdim=not self.squeeze)


class Normalize(Module):
    """Vectors (N, features) divided by their `p`-norm, to which `eps` is added.

    Example:
        >>> module = flambeau.legacy.nn.Normalize(2.)
        >>> module.forward(flambeau.tensor([[3., 4.]]))
        tensor([[0.6000, 0.8000]])
    """

    p: float
    eps: float = 1e-10

    def compute(self, input: Tensor) -> Tensor:
        return input / (input.norm(self.p, dim=-1, keepdim=True) + self.eps)


# --- tables ---


class CAddTable(Module):
    """The sum of the tensors of a table.

    Example:
        >>> module = flambeau.legacy.nn.CAddTable()
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        tensor([4., 6.])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        total = input[0]
        for tensor in input[1:]:
            total = total + tensor
        return total


class CMulTable(Module):
    """The product of the tensors of a table.

    Example:
        >>> module = flambeau.legacy.nn.CMulTable()
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        tensor([3., 8.])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        product = input[0]
        for tensor in input[1:]:
            product = product * tensor
        return product


class CSubTable(Module):
    """The difference of the two tensors of a table.

    Example:
        >>> module = flambeau.legacy.nn.CSubTable()
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        tensor([-2., -2.])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0] - input[1]


class CDivTable(Module):
    """The quotient of the two tensors of a table.

    Example:
        >>> module = flambeau.legacy.nn.CDivTable()
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        tensor([0.3333, 0.5000])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0] / input[1]


class JoinTable(Module):
    """The tensors of a table joined along a dim.

    Args:
        dimension: which; of batches, whose samples have `nInputDims` dims, one further.
        nInputDims: the dims of a sample; 0: the tensors are no batches.

    Example:
        >>> module = flambeau.legacy.nn.JoinTable(0)
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        tensor([1., 2., 3., 4.])
    """

    dimension: int
    nInputDims: int = 0

    def compute(self, input: list[Tensor]) -> Tensor:
        batch = self.nInputDims != 0 and input[0].dim() == self.nInputDims + 1
        return flambeau.cat(input, self.dimension + batch)


class SplitTable(Module):
    """The slices of a tensor along a dim, which goes, as a table.

    Example:
        >>> module = flambeau.legacy.nn.SplitTable(0)
        >>> module.forward(flambeau.tensor([[1., 2.], [3., 4.]]))
        [tensor([1., 2.]), tensor([3., 4.])]
    """

    dimension: int

    def compute(self, input: Tensor) -> list[Tensor]:
        return list(input.unbind(self.dimension))


class SelectTable(Module):
    """One element of a table.

    Example:
        >>> module = flambeau.legacy.nn.SelectTable(1)
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        tensor([3., 4.])
    """

    index: int

    def compute(self, input: list[Any]) -> Any:
        return input[self.index]


class NarrowTable(Module):
    """`length` elements of a table from `offset` on.

    Example:
        >>> module = flambeau.legacy.nn.NarrowTable(1)
        >>> module.forward([flambeau.tensor([1., 2.]), flambeau.tensor([3., 4.])])
        [tensor([3., 4.])]
    """

    offset: int
    length: int = 1

    def compute(self, input: list[Any]) -> list[Any]:
        return input[self.offset : self.offset + self.length]


class FlattenTable(Module):
    """All tensors of a table of tables as one table.

    Example:
        >>> module = flambeau.legacy.nn.FlattenTable()
        >>> module.forward([flambeau.tensor([1.]), [flambeau.tensor([2.]), flambeau.tensor([3.])]])
        [tensor([1.]), tensor([2.]), tensor([3.])]
    """

    def compute(self, input: list[Any]) -> list[Tensor]:
        return tree_leaves(input)


class MixtureTable(Module):
    """The sum of experts' outputs, each times its share.

    Input: a table [shares (N, experts), experts], experts a table of tensors (N, ...) or one
    tensor (N, experts, ...).

    Example:
        >>> module = flambeau.legacy.nn.MixtureTable()
        >>> module.forward([flambeau.ones(1, 2), [flambeau.ones(1, 3), flambeau.ones(1, 3)]])
        tensor([[2., 2., 2.]])
    """

    def compute(self, input: list[Any]) -> Tensor:
        shares, experts = input
        stacked = experts if isinstance(experts, Tensor) else flambeau.stack(experts, 1)
        return (stacked * shares.reshape(*shares.shape, *[1] * (stacked.dim() - 2))).sum(1)


# --- borders of images (N, C, H, W) and volumes (N, C, D, H, W) ---


class SpatialZeroPadding(Module):
    """Rows and columns of zeros around images; negative: rows and columns fewer.

    Example:
        >>> module = flambeau.legacy.nn.SpatialZeroPadding(1, 1, 0, 0)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 4, 6])
    """

    pad_l: int
    pad_r: int
    pad_t: int
    pad_b: int
    mode = "constant"

    def compute(self, input: Tensor) -> Tensor:
        return F.pad(input, (self.pad_l, self.pad_r, self.pad_t, self.pad_b), self.mode)


class SpatialReflectionPadding(SpatialZeroPadding):
    """Rows and columns around images that mirror what is inside.

    Example:
        >>> module = flambeau.legacy.nn.SpatialReflectionPadding(1, 1, 0, 0)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 4, 6])
    """

    mode = "reflect"


class SpatialReplicationPadding(SpatialZeroPadding):
    """Rows and columns around images that repeat those at the border.

    Example:
        >>> module = flambeau.legacy.nn.SpatialReplicationPadding(1, 1, 0, 0)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 4, 6])
    """

    mode = "replicate"


class VolumetricReplicationPadding(Module):
    """Planes around volumes that repeat those at the border.

    Example:
        >>> module = flambeau.legacy.nn.VolumetricReplicationPadding(1, 1, 0, 0, 0, 0)
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 1, 4, 4, 6])
    """

    pleft: int
    pright: int
    ptop: int
    pbottom: int
    pfront: int
    pback: int

    def compute(self, input: Tensor) -> Tensor:
        sizes = (self.pleft, self.pright, self.ptop, self.pbottom, self.pfront, self.pback)
        return F.pad(input, sizes, "replicate")


class SpatialUpSamplingNearest(Module):
    """Images (N, C, H, W) with every pixel `scale` by `scale` times.

    Example:
        >>> module = flambeau.legacy.nn.SpatialUpSamplingNearest(2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 8, 8])
    """

    scale: int

    def compute(self, input: Tensor) -> Tensor:
        return F.interpolate(input, scale_factor=self.scale, mode="nearest")
