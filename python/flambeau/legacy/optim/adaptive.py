"""Steps whose length each parameter has for itself."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor
from flambeau.legacy.optim._common import OpFunc, Options, Result, decayed, evaluated, settings


def adagrad(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of Adagrad (J. Duchi, E. Hazan, Y. Singer, 2011), which changes `x`.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `learningRate` (0.001), `learningRateDecay`, `weightDecay`.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.adagrad(square, flambeau.tensor([2.]), {"learningRate": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"learningRate": 1e-3, "learningRateDecay": 0, "weightDecay": 0}
    options, state = settings("adagrad", config, state, defaults)
    loss, gradient = evaluated(opfunc, x, options)
    squares = state.setdefault("paramVariance", flambeau.zeros_like(x))
    squares.addcmul_(gradient, gradient)
    rate = decayed(options, state.get("evalCounter", 0))
    x.addcdiv_(gradient, squares.sqrt().add_(1e-10), value=-rate)
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, [loss]


def adam(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of Adam (D. Kingma, J. Ba, 2014), which changes `x`.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `learningRate` (0.001), `learningRateDecay`, `weightDecay`, `beta1` (0.9), `beta2`
            (0.999), `epsilon` (1e-8).

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.adam(square, flambeau.tensor([2.]), {"learningRate": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"learningRate": 1e-3, "learningRateDecay": 0, "weightDecay": 0}
    defaults |= {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    options, state = settings("adam", config, state, defaults)
    beta1, beta2 = options["beta1"], options["beta2"]
    loss, gradient = evaluated(opfunc, x, options)
    mean = state.setdefault("m", flambeau.zeros_like(x))
    square = state.setdefault("v", flambeau.zeros_like(x))
    rate = decayed(options, state.get("t", 0))
    state["t"] = t = state.get("t", 0) + 1
    mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
    square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    rate *= math.sqrt(1 - beta2**t) / (1 - beta1**t)
    x.addcdiv_(mean, square.sqrt().add_(options["epsilon"]), value=-rate)
    return x, [loss]


def adamax(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of AdaMax, Adam's form with the largest gradient (D. Kingma, J. Ba, 2014).

    Args:
        opfunc, x, state: as in `sgd`.
        config: `learningRate` (0.002), `weightDecay`, `beta1` (0.9), `beta2` (0.999), `epsilon`
            (1e-38).

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.adamax(square, flambeau.tensor([2.]), {"learningRate": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"learningRate": 2e-3, "weightDecay": 0}
    defaults |= {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-38}
    options, state = settings("adamax", config, state, defaults)
    loss, gradient = evaluated(opfunc, x, options)
    mean = state.setdefault("m", flambeau.zeros_like(x))
    largest = state.setdefault("u", flambeau.zeros_like(x))
    state["t"] = t = state.get("t", 0) + 1
    mean.mul_(options["beta1"]).add_(gradient, alpha=1 - options["beta1"])
    held = largest.mul(options["beta2"])
    flambeau.maximum(held, gradient.abs().add_(options["epsilon"]), out=largest)
    rate = options["learningRate"] / (1 - options["beta1"] ** t)
    x.addcdiv_(mean, largest, value=-rate)
    return x, [loss]


def adadelta(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of Adadelta (M. Zeiler, 2012), which changes `x`.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `rho` (0.9), what averages keep; `eps` (1e-6); `weightDecay`.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.adadelta(square, flambeau.tensor([2.]), {})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    options, state = settings(
        "adadelta", config, state, {"rho": 0.9, "eps": 1e-6, "weightDecay": 0}
    )
    rho, eps = options["rho"], options["eps"]
    loss, gradient = evaluated(opfunc, x, options)
    squares = state.setdefault("paramVariance", flambeau.zeros_like(x))
    steps = state.setdefault("accDelta", flambeau.zeros_like(x))
    squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
    step = (steps + eps).sqrt_().div_((squares + eps).sqrt_()).mul_(gradient)
    x.sub_(step)
    steps.mul_(rho).addcmul_(step, step, value=1 - rho)
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, [loss]


def rmsprop(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of RMSprop (T. Tieleman, G. Hinton, 2012), which changes `x`.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `learningRate` (0.01), `alpha` (0.99), what the average keeps; `epsilon` (1e-8);
            `weightDecay`.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.rmsprop(square, flambeau.tensor([2.]), {"learningRate": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"learningRate": 1e-2, "alpha": 0.99, "epsilon": 1e-8, "weightDecay": 0}
    options, state = settings("rmsprop", config, state, defaults)
    loss, gradient = evaluated(opfunc, x, options)
    squares = state.setdefault("m", flambeau.zeros_like(x))
    squares.mul_(options["alpha"]).addcmul_(gradient, gradient, value=1 - options["alpha"])
    divisors = squares.sqrt().add_(options["epsilon"])
    x.addcdiv_(gradient, divisors, value=-options["learningRate"])
    return x, [loss]


def rprop(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """Steps of resilient propagation (M. Riedmiller, H. Braun, 1993), which change `x`: of a
    gradient only the sign counts.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `stepsize` (0.1), the first step; `etaplus` (1.2) and `etaminus` (0.5), what a step
            is multiplied by where the sign stayed and where it changed; `stepsizemax` (50),
            `stepsizemin` (1e-6); `niter` (1), how many steps.

    Returns:
        `x` and the losses that were seen.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.rprop(square, flambeau.tensor([2.]), {"stepsize": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"stepsize": 0.1, "etaplus": 1.2, "etaminus": 0.5, "niter": 1}
    defaults |= {"stepsizemax": 50.0, "stepsizemin": 1e-6}
    options, state = settings("rprop", config, state, defaults)
    before = state.setdefault("delta", flambeau.zeros_like(x))
    sizes = state.setdefault("stepsize_", flambeau.full_like(x, options["stepsize"]))
    losses = []
    for _ in range(options["niter"]):
        loss, gradient = opfunc(x)
        losses.append(loss)
        agreement = (gradient * before).sign()
        sizes.mul_(flambeau.where(agreement > 0, options["etaplus"], 1.0))
        sizes.mul_(flambeau.where(agreement < 0, options["etaminus"], 1.0))
        sizes.clamp_(options["stepsizemin"], options["stepsizemax"])
        gradient = gradient.masked_fill(agreement < 0, 0)
        x.sub_(gradient.sign() * sizes)
        before.copy_(gradient)
    return x, losses
