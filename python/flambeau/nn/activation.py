"""Activations as modules."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter


class _InPlace(Module):
    """An activation whose only option is to overwrite its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """max(x, 0), elementwise.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.ReLU()(flambeau.tensor([-1., 0., 2.]))
        tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class ReLU6(_InPlace):
    """min(max(x, 0), 6), elementwise.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.ReLU6()(flambeau.tensor([-1., 2., 8.]))
        tensor([0., 2., 6.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


class SELU(_InPlace):
    """The self-normalizing ELU: scale * x where x is positive, else scale * alpha * (exp(x) - 1).

    alpha = 1.6733 and scale = 1.0507 keep mean 0 and variance 1 from layer to layer.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: G. Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Example:
        >>> flambeau.nn.SELU()(flambeau.tensor([-1., 0., 1.]))
        tensor([-1.1113,  0.0000,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x), elementwise.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.SiLU()(flambeau.tensor([-1., 0., 1.]))
        tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x)), elementwise.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.

    Example:
        >>> flambeau.nn.Mish()(flambeau.tensor([-1., 0., 1.]))
        tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_InPlace):
    """x * min(max(x + 3, 0), 6) / 6, elementwise.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: A. Howard et al., Searching for MobileNetV3, 2019.

    Example:
        >>> flambeau.nn.Hardswish()(flambeau.tensor([-1., 1., 4.]))
        tensor([-0.3333,  0.6667,  4.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_InPlace):
    """min(max(x + 3, 0), 6) / 6, elementwise.

    Args:
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Hardsigmoid()(flambeau.tensor([-4., 0., 4.]))
        tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)), elementwise.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Sigmoid()(flambeau.tensor([-2., 0., 2.]))
        tensor([0.1192, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent, elementwise.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Tanh()(flambeau.tensor([-2., 0., 2.]))
        tensor([-0.9640,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), elementwise.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.LogSigmoid()(flambeau.tensor([-100., 0.]))
        tensor([-100.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|), elementwise.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Softsign()(flambeau.tensor([-1., 0., 3.]))
        tensor([-0.5000,  0.0000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x), elementwise.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Tanhshrink()(flambeau.tensor([-2., 0., 2.]))
        tensor([-1.0360,  0.0000,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class GELU(Module):
    """x times the normal distribution function of x, elementwise.

    Args:
        approximate: "none", or "tanh" for the approximation with tanh.

    Shapes: input of any shape, output alike.

    Source: D. Hendrycks, K. Gimpel, Gaussian Error Linear Units, 2016.

    Example:
        >>> flambeau.nn.GELU()(flambeau.tensor([-1., 0., 1.]))
        tensor([-0.1587,  0.0000,  0.8413])
        >>> flambeau.nn.GELU("tanh")(flambeau.tensor([-1., 0., 1.]))
        tensor([-0.1588,  0.0000,  0.8412])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """x where it is positive, else negative_slope * x.

    Args:
        negative_slope: of the negative half.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.LeakyReLU(0.25)(flambeau.tensor([-4., 0., 2.]))
        tensor([-1.,  0.,  2.])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """LeakyReLU with slopes drawn from [lower, upper] in training, their mean in evaluation.

    Args:
        lower, upper: the slopes, one for each negative element, lie between these.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: B. Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network,
    2015.

    Example:
        >>> layer = flambeau.nn.RReLU(0.1, 0.3)
        >>> bool((layer(-flambeau.ones(100)) <= -0.1).all())
        True
        >>> layer.eval()(flambeau.tensor([-1., 2.]))
        tensor([-0.2000,  2.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )


class _Alpha(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class ELU(_Alpha):
    """x where it is positive, else alpha * (exp(x) - 1).

    Args:
        alpha: minus the limit for large negative numbers.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: D. Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units,
    2015.

    Example:
        >>> flambeau.nn.ELU()(flambeau.tensor([-1., 0., 1.]))
        tensor([-0.6321,  0.0000,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)): an ELU whose slope at 0 is 1 for every
    alpha.

    Args:
        alpha: minus the limit for large negative numbers.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: J. Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Example:
        >>> flambeau.nn.CELU(alpha=2.)(flambeau.tensor([-2., 0., 1.]))
        tensor([-1.2642,  0.0000,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class Hardtanh(Module):
    """x, cut off at min_val and max_val.

    Args:
        min_val, max_val: the smallest and the largest result.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Raises:
        ValueError: if max_val does not exceed min_val.

    Example:
        >>> flambeau.nn.Hardtanh()(flambeau.tensor([-3., 0.5, 3.]))
        tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise ValueError(f"Hardtanh: max_val {max_val} must exceed min_val {min_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        text = f"min_val={self.min_val}, max_val={self.max_val}"
        return text + (", inplace=True" if self.inplace else "")


class Threshold(Module):
    """x where it exceeds `threshold`, else `value`.

    Args:
        threshold: what x must exceed to stay.
        value: what the other elements become.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Threshold(1., 9.)(flambeau.tensor([0., 1., 2.]))
        tensor([9., 9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        text = f"threshold={self.threshold}, value={self.value}"
        return text + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds `threshold`.

    Args:
        beta: the larger, the closer to max(x, 0).
        threshold: above it the result is x to the last digit anyway.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Softplus()(flambeau.tensor([-1., 0., 30.]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by lambd, 0 within.

    Args:
        lambd: by how much; not negative.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Softshrink(0.5)(flambeau.tensor([-2., 0.25, 2.]))
        tensor([-1.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """x where |x| exceeds lambd, else 0.

    Args:
        lambd: the largest magnitude that becomes 0.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Hardshrink(0.5)(flambeau.tensor([-2., 0.25, 2.]))
        tensor([-2.,  0.,  2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.hardshrink(input, self.lambd)


class PReLU(Module):
    """x where it is positive, else weight * x with a learned weight.

    Args:
        num_parameters: 1, or the number of channels (dimension 1).
        init: first value of the weight.
        device, dtype: of the weight.

    Shapes: input of any shape, or (N, num_parameters, ...), output alike, weight (num_parameters).

    Source: K. He et al., Delving Deep into Rectifiers, 2015.

    Example:
        >>> layer = flambeau.nn.PReLU()
        >>> layer(flambeau.tensor([-4., 2.])).detach()
        tensor([-1.,  2.])
        >>> layer.weight
        Parameter containing:
        tensor([0.2500], requires_grad=True)
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(flambeau.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to its first value."""
        with flambeau.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return _C.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second.

    Args:
        dim: the dimension that is halved; its size is even.

    Shapes: input (..., 2 n, ...), output (..., n, ...).

    Source: Y. Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    Example:
        >>> flambeau.nn.GLU()(flambeau.tensor([[1., 2., 0., 0.]]))
        tensor([[0.5000, 1.0000]])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
