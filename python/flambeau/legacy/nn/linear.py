"""Layers of weights: products, sums, distances, tables of rows."""

from __future__ import annotations

import math
from typing import Any, Self

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F


class Linear(Module):
    """`x Aᵀ + b`; shapes (N, in) or (in,) to (N, out) or (out,).

    Example:
        >>> module = flambeau.legacy.nn.Linear(3, 2)
        >>> module.forward(flambeau.ones(4, 3)).shape
        flambeau.Size([4, 2])
    """

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        self._own(inputSize, weight=(outputSize, inputSize), bias=(outputSize,) if bias else None)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(input, weight, bias)


class PartialLinear(Linear):
    """`Linear` of which only some outputs are computed, after `setPartition(indices)`.

    Example:
        >>> from flambeau.legacy import nn
        >>> layer = nn.PartialLinear(3, 5)
        >>> layer.setPartition(flambeau.tensor([0, 2]))
        >>> layer.forward(flambeau.ones(1, 3)).shape
        flambeau.Size([1, 2])
    """

    def __init__(self, inputsize: int, outputsize: int, bias: bool = True) -> None:
        super().__init__(inputsize, outputsize, bias)
        self.partition: Tensor | None = None

    def setPartition(self, indices: Tensor | None) -> None:
        """The outputs (int64, in this order) that are computed; None: all."""
        self.partition = indices

    def resetPartition(self) -> None:
        """Computes all outputs again."""
        self.partition = None

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.partition is not None:
            weight = weight[self.partition]
            bias = None if bias is None else bias[self.partition]
        return F.linear(input, weight, bias)


class Bilinear(Module):
    """`x₁ᵀ A x₂ + b` of a table [(N, in1), (N, in2)]; output (N, out).

    Example:
        >>> module = flambeau.legacy.nn.Bilinear(2, 3, 4)
        >>> module.forward([flambeau.ones(5, 2), flambeau.ones(5, 3)]).shape
        flambeau.Size([5, 4])
    """

    def __init__(
        self, inputSize1: int, inputSize2: int, outputSize: int, bias: bool = True
    ) -> None:
        weight, shape = (outputSize, inputSize1, inputSize2), (outputSize,) if bias else None
        self._own(inputSize1, weight=weight, bias=shape)

    def compute(self, input: list[Tensor], weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.bilinear(input[0], input[1], weight, bias)


class Add(Module):
    """The input plus a vector that is learned.

    Args:
        inputSize: how many elements the last dim has.
        scalar: learn one number for all of them.

    Example:
        >>> module = flambeau.legacy.nn.Add(2)
        >>> module.forward(flambeau.tensor([-2., 0.5])).shape
        flambeau.Size([2])
    """

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        self._own(inputSize, bias=(1 if scalar else inputSize,))

    def compute(self, input: Tensor, bias: Tensor) -> Tensor:
        return input + bias


class CMul(Module):
    """The input times a tensor of these sizes that is learned; dims of size 1 are repeated.

    Example:
        >>> module = flambeau.legacy.nn.CMul(2)
        >>> module.forward(flambeau.tensor([-2., 0.5])).shape
        flambeau.Size([2])
    """

    def __init__(self, *sizes: int) -> None:
        self._own(math.prod(sizes), weight=sizes)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return input * weight


class Mul(Module):
    """The input times a number that is learned.

    Example:
        >>> module = flambeau.legacy.nn.Mul()
        >>> module.forward(flambeau.tensor([-2., 0.5])).shape
        flambeau.Size([2])
    """

    def __init__(self) -> None:
        self._own(1, weight=(1,))

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return input * weight


class LookupTable(Module):
    """Rows of a table by their numbers; input int64 of any shape, output with a dim more.

    Args:
        nIndex: how many rows there are.
        nOutput: how long each is.
        paddingValue: a row that is not trained; -1: there is none.
        maxNorm: rows that are looked up are first made as short as this.
        normType: the norm that `maxNorm` speaks of.

    Example:
        >>> module = flambeau.legacy.nn.LookupTable(5, 3)
        >>> module.forward(flambeau.tensor([[1, 2]])).shape
        flambeau.Size([1, 2, 3])
    """

    def __init__(
        self,
        nIndex: int,
        nOutput: int,
        paddingValue: int = -1,
        maxNorm: float | None = None,
        normType: float = 2,
    ) -> None:
        self.paddingValue, self.maxNorm, self.normType = paddingValue, maxNorm, normType
        self._own(1, weight=(nIndex, nOutput))

    def reset(self, stdv: float | None = None) -> Self:
        """Draws the rows from the normal distribution.

        Args:
            stdv: its deviation; left out, 1.
        """
        self._own_parameters()[0][0].normal_(0, 1 if stdv is None else stdv)
        return self

    def updateOutput(self, input: Tensor) -> Tensor:
        if self.maxNorm is not None:
            weight, rows = self._own_parameters()[0][0], input.unique()
            weight[rows] = weight[rows].renorm(self.normType, 0, self.maxNorm)
        return super().updateOutput(input)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        padding = None if self.paddingValue < 0 else self.paddingValue
        return F.embedding(input, weight, padding)


class Euclidean(Module):
    """Distances to points that are learned; shapes (N, in) to (N, out).

    Example:
        >>> module = flambeau.legacy.nn.Euclidean(2, 3)
        >>> module.forward(flambeau.ones(4, 2)).shape
        flambeau.Size([4, 3])
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._own(inputSize, weight=(inputSize, outputSize))

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return (input.unsqueeze(-1) - weight).norm(dim=-2)


class WeightedEuclidean(Module):
    """`Euclidean` where each dim of each point has a weight, `diagCov`, that is learned.

    Example:
        >>> module = flambeau.legacy.nn.WeightedEuclidean(2, 3)
        >>> module.forward(flambeau.ones(4, 2)).shape
        flambeau.Size([4, 3])
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        shape = (inputSize, outputSize)
        self._own(inputSize, weight=shape, diagCov=shape)

    def reset(self, stdv: float | None = None) -> Self:
        """Draws the points uniformly; weights are 1."""
        super().reset(stdv)
        self._own_parameters()[0][1].fill_(1)
        return self

    def compute(self, input: Tensor, weight: Tensor, diagCov: Tensor) -> Tensor:
        return ((input.unsqueeze(-1) - weight) * diagCov).norm(dim=-2)


class Cosine(Module):
    """Cosines of the angles to vectors that are learned; shapes (N, in) to (N, out).

    Example:
        >>> module = flambeau.legacy.nn.Cosine(2, 3)
        >>> module.forward(flambeau.ones(4, 2)).shape
        flambeau.Size([4, 3])
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._own(inputSize, weight=(outputSize, inputSize))

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return F.linear(F.normalize(input, dim=-1), F.normalize(weight, dim=-1))


# --- tables of tensors, multiplied ---


class MM(Module):
    """The product of two matrices, or batches of them; each may be transposed before.

    Example:
        >>> module = flambeau.legacy.nn.MM()
        >>> module.forward([flambeau.ones(2, 3), flambeau.ones(3, 4)]).shape
        flambeau.Size([2, 4])
    """

    transA: bool = False
    transB: bool = False

    def compute(self, input: list[Tensor]) -> Tensor:
        left, right = input
        return flambeau.matmul(left.mT if self.transA else left, right.mT if self.transB else right)


class MV(Module):
    """The product of a matrix, which may be transposed before, and a vector; or of batches.

    Example:
        >>> module = flambeau.legacy.nn.MV()
        >>> module.forward([flambeau.ones(2, 3), flambeau.ones(3)])
        tensor([3., 3.])
    """

    trans: bool = False

    def compute(self, input: list[Tensor]) -> Any:
        matrix, vector = input
        return ((matrix.mT if self.trans else matrix) @ vector.unsqueeze(-1)).squeeze(-1)


class DotProduct(Module):
    """Sums of products of two tensors along their last dim.

    Example:
        >>> module = flambeau.legacy.nn.DotProduct()
        >>> module.forward([flambeau.tensor([[1., 2.]]), flambeau.tensor([[3., 4.]])])
        tensor([11.])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        return (input[0] * input[1]).sum(-1)


class CosineDistance(Module):
    """Cosines of the angles between two tensors' vectors along their last dim.

    Example:
        >>> module = flambeau.legacy.nn.CosineDistance()
        >>> module.forward([flambeau.tensor([[1., 0.]]), flambeau.tensor([[3., 4.]])])
        tensor([0.6000])
    """

    def compute(self, input: list[Tensor]) -> Tensor:
        return F.cosine_similarity(input[0], input[1], dim=-1)


class PairwiseDistance(Module):
    """Distances, by the `p`-norm, of two tensors' vectors along their last dim.

    Example:
        >>> module = flambeau.legacy.nn.PairwiseDistance(2.)
        >>> module.forward([flambeau.tensor([[3., 4.]]), flambeau.tensor([[0., 0.]])])
        tensor([5.])
    """

    p: float

    def compute(self, input: list[Tensor]) -> Tensor:
        return (input[0] - input[1]).norm(self.p, dim=-1)
