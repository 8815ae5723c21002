"""Functions of elements and of vectors, without parameters but for PReLU."""

from __future__ import annotations

from typing import Any, Self

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F


class Abs(Module):
    """Absolute values.

    Example:
        >>> module = flambeau.legacy.nn.Abs()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([2.0000, 0.5000])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.abs()


class AddConstant(Module):
    """Elements plus a number.

    Example:
        >>> module = flambeau.legacy.nn.AddConstant(1.)
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-1.0000,  1.5000])
    """

    constant_scalar: float
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return input + self.constant_scalar


class MulConstant(Module):
    """Elements times a number.

    Example:
        >>> module = flambeau.legacy.nn.MulConstant(3.)
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-6.0000,  1.5000])
    """

    constant_scalar: float
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return input * self.constant_scalar


class HardTanh(Module):
    """Elements within bounds; the bound where they are not.

    Example:
        >>> module = flambeau.legacy.nn.HardTanh()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-1.0000,  0.5000])
    """

    min_value: float = -1
    max_value: float = 1
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_value, self.max_value)


class Clamp(HardTanh):
    """`HardTanh` with bounds that must be given.

    Example:
        >>> module = flambeau.legacy.nn.Clamp(-1., 1.)
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-1.0000,  0.5000])
    """

    min_value: float
    max_value: float
    inplace: bool = False


class ReLU6(Module):
    """Elements between 0 and 6.

    Example:
        >>> module = flambeau.legacy.nn.ReLU6()
        >>> module.forward(flambeau.tensor([-1., 8.]))
        tensor([0., 6.])
    """

    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.relu6(input)


class ELU(Module):
    """`x` above 0, `alpha (exp(x) - 1)` below.

    Example:
        >>> module = flambeau.legacy.nn.ELU()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-0.8647,  0.5000])
    """

    alpha: float = 1
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha)


class Exp(Module):
    """The exponential function.

    Example:
        >>> module = flambeau.legacy.nn.Exp()
        >>> module.forward(flambeau.tensor([0., 1.]))
        tensor([1.0000, 2.7183])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.exp()


class HardShrink(Module):
    """Elements, 0 where they are within `lambd` of it.

    Example:
        >>> module = flambeau.legacy.nn.HardShrink()
        >>> module.forward(flambeau.tensor([0.25, 2.]))
        tensor([0., 2.])
    """

    lambd: float = 0.5

    def compute(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class SoftShrink(Module):
    """Elements moved by `lambd` towards 0, at most to it.

    Example:
        >>> module = flambeau.legacy.nn.SoftShrink()
        >>> module.forward(flambeau.tensor([2., 0.25]))
        tensor([1.5000, 0.0000])
    """

    lambd: float = 0.5

    def compute(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class LeakyReLU(Module):
    """`x` above 0, `negval x` below.

    Example:
        >>> module = flambeau.legacy.nn.LeakyReLU(0.25)
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-0.5000,  0.5000])
    """

    negval: float = 0.01
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negval)


class Log(Module):
    """Natural logarithms.

    Example:
        >>> module = flambeau.legacy.nn.Log()
        >>> module.forward(flambeau.tensor([1., 2.]))
        tensor([0.0000, 0.6931])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.log()


class LogSigmoid(Module):
    """Logarithms of the logistic function.

    Example:
        >>> module = flambeau.legacy.nn.LogSigmoid()
        >>> module.forward(flambeau.tensor([0.]))
        tensor([-0.6931])
    """

    def compute(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Power(Module):
    """Elements to a power.

    Example:
        >>> module = flambeau.legacy.nn.Power(2.)
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([4.0000, 0.2500])
    """

    pow: float

    def compute(self, input: Tensor) -> Tensor:
        return input.pow(self.pow)


class RReLU(Module):
    """`x` above 0, below `x` times a slope, in training drawn between bounds.

    Example:
        >>> module = flambeau.legacy.nn.RReLU()
        >>> module.forward(flambeau.tensor([-2., 0.5])).shape
        flambeau.Size([2])
    """

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.train)


class Sigmoid(Module):
    """The logistic function.

    Example:
        >>> module = flambeau.legacy.nn.Sigmoid()
        >>> module.forward(flambeau.tensor([0., 2.]))
        tensor([0.5000, 0.8808])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class SoftPlus(Module):
    """`log(1 + exp(beta x)) / beta`, `x` where `beta x` is above the threshold.

    Example:
        >>> module = flambeau.legacy.nn.SoftPlus()
        >>> module.forward(flambeau.tensor([0.]))
        tensor([0.6931])
    """

    beta: float = 1
    threshold: float = 20

    def compute(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class SoftSign(Module):
    """`x / (1 + abs(x))`.

    Example:
        >>> module = flambeau.legacy.nn.SoftSign()
        >>> module.forward(flambeau.tensor([1., -3.]))
        tensor([ 0.5000, -0.7500])
    """

    def compute(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Sqrt(Module):
    """Square roots.

    Example:
        >>> module = flambeau.legacy.nn.Sqrt()
        >>> module.forward(flambeau.tensor([4., 9.]))
        tensor([2., 3.])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.sqrt()


class Square(Module):
    """Squares.

    Example:
        >>> module = flambeau.legacy.nn.Square()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([4.0000, 0.2500])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.square()


class Tanh(Module):
    """Hyperbolic tangents.

    Example:
        >>> module = flambeau.legacy.nn.Tanh()
        >>> module.forward(flambeau.tensor([0., 1.]))
        tensor([0.0000, 0.7616])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.tanh()


class TanhShrink(Module):
    """`x - tanh(x)`.

    Example:
        >>> module = flambeau.legacy.nn.TanhShrink()
        >>> module.forward(flambeau.tensor([0., 1.]))
        tensor([0.0000, 0.2384])
    """

    def compute(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Threshold(Module):
    """Elements, `value` where they do not exceed the threshold.

    Example:
        >>> module = flambeau.legacy.nn.Threshold(1., 9.)
        >>> module.forward(flambeau.tensor([0., 2.]))
        tensor([9., 2.])
    """

    threshold: float = 0
    value: float = 0
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value)


class ReLU(Module):
    """Elements, 0 where they are negative.

    Example:
        >>> module = flambeau.legacy.nn.ReLU()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([0.0000, 0.5000])
    """

    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.relu(input)


class PReLU(Module):
    """`x` above 0, `x` times a slope that is learned below.

    Args:
        nOutputPlane: of how many channels each has its slope; 0: there is one.

    Example:
        >>> module = flambeau.legacy.nn.PReLU()
        >>> module.forward(flambeau.tensor([-2., 0.5])).shape
        flambeau.Size([2])
    """

    nOutputPlane: int = 0

    def __post_init__(self) -> None:
        self._own(1, weight=(max(self.nOutputPlane, 1),))

    def reset(self, stdv: float | None = None) -> Self:
        """Sets the slopes to 0.25."""
        self._own_parameters()[0][0].fill_(0.25)
        return self

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return F.prelu(input, weight)


# --- along a dim: the first of one or three dims, the second of two or four ---


def _dim(input: Tensor) -> int:
    return 0 if input.dim() in (1, 3) else 1


class SoftMax(Module):
    """Exponentials that sum to 1, of a vector or of the channels of an image; of a batch too.

    Example:
        >>> module = flambeau.legacy.nn.SoftMax()
        >>> module.forward(flambeau.tensor([0., 0.]))
        tensor([0.5000, 0.5000])
    """

    def compute(self, input: Tensor) -> Tensor:
        return flambeau.softmax(input, _dim(input))


class SoftMin(Module):
    """`SoftMax` of negated elements.

    Example:
        >>> module = flambeau.legacy.nn.SoftMin()
        >>> module.forward(flambeau.tensor([0., 0.]))
        tensor([0.5000, 0.5000])
    """

    def compute(self, input: Tensor) -> Tensor:
        return flambeau.softmax(-input, _dim(input))


class LogSoftMax(Module):
    """Logarithms of `SoftMax`.

    Example:
        >>> module = flambeau.legacy.nn.LogSoftMax()
        >>> module.forward(flambeau.tensor([0., 0.]))
        tensor([-0.6931, -0.6931])
    """

    def compute(self, input: Tensor) -> Tensor:
        return flambeau.log_softmax(input, _dim(input))


class SpatialSoftMax(SoftMax):
    """`SoftMax` over the channels of images (C, H, W) or (N, C, H, W).

    Example:
        >>> module = flambeau.legacy.nn.SpatialSoftMax()
        >>> module.forward(flambeau.zeros(2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """


# --- what passes its input on ---


class Identity(Module):
    """The input as it is; a table too.

    Example:
        >>> module = flambeau.legacy.nn.Identity()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-2.0000,  0.5000])
    """

    def updateOutput(self, input: Any) -> Any:
        self.output = input
        return input

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = gradOutput
        return gradOutput


class GradientReversal(Identity):
    """The input as it is, and its gradient times `-lambd`.

    Example:
        >>> module = flambeau.legacy.nn.GradientReversal()
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-2.0000,  0.5000])
    """

    lambd: float = 1

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = gradOutput * -self.lambd
        return self.gradInput


class L1Penalty(Identity):
    """The input as it is; the gradient has that of a penalty on its absolute values.

    Attributes:
        loss: the penalty of the last input.

    Args:
        l1weight: how much the penalty weighs.
        sizeAverage: divide the penalty by the number of elements.
        provideOutput: whether the gradient that arrives is passed on too.

    Example:
        >>> module = flambeau.legacy.nn.L1Penalty(0.1)
        >>> module.forward(flambeau.tensor([-2., 0.5]))
        tensor([-2.0000,  0.5000])
    """

    l1weight: float
    sizeAverage: bool = False
    provideOutput: bool = True

    def _weight(self, input: Tensor) -> float:
        return self.l1weight / input.numel() if self.sizeAverage else self.l1weight

    def updateOutput(self, input: Tensor) -> Tensor:
        self.loss = self._weight(input) * input.abs().sum().item()
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        penalty = input.sign() * self._weight(input)
        self.gradInput = penalty + gradOutput if self.provideOutput else penalty
        return self.gradInput


class Contiguous(Module):
    """The input, its elements in order.

    Example:
        >>> module = flambeau.legacy.nn.Contiguous()
        >>> module.forward(flambeau.ones(2, 3).t()).is_contiguous()
        True
    """

    def compute(self, input: Tensor) -> Tensor:
        return input.contiguous()


class Copy(Module):
    """The input as another dtype; the gradient comes back in that of the input.

    Example:
        >>> module = flambeau.legacy.nn.Copy(flambeau.float32, flambeau.float64)
        >>> module.forward(flambeau.tensor([-2., 0.5])).dtype
        flambeau.float64
    """

    intype: flambeau.dtype
    outtype: flambeau.dtype

    def compute(self, input: Tensor) -> Tensor:
        return input.to(self.outtype)


class Dropout(Module):
    """In training elements are 0 with probability `p`, others divided by `1 - p`.

    Example:
        >>> module = flambeau.legacy.nn.Dropout()
        >>> module.forward(flambeau.ones(4)).shape
        flambeau.Size([4])
    """

    p: float = 0.5
    inplace: bool = False

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.train)


class SpatialDropout(Module):
    """`Dropout` of whole channels of images (N, C, H, W).

    Example:
        >>> module = flambeau.legacy.nn.SpatialDropout()
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 4, 4])
    """

    p: float = 0.5

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.train)


class VolumetricDropout(Module):
    """`Dropout` of whole channels of volumes (N, C, D, H, W).

    Example:
        >>> module = flambeau.legacy.nn.VolumetricDropout()
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 1, 4, 4, 4])
    """

    p: float = 0.5

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.train)
