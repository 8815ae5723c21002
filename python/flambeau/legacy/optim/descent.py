"""Steps along the gradient, and along its averages."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.legacy.optim._common import OpFunc, Options, Result, decayed, evaluated, settings


def sgd(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of gradient descent, which changes `x`.

    Args:
        opfunc: gives the loss at `x` and its gradient.
        x: the parameters, one tensor.
        config: `learningRate` (0.001), `learningRateDecay`, `weightDecay`, `weightDecays` and
            `learningRates` (tensors, one number per parameter), `momentum`, `dampening` (as much
            as the momentum), `nesterov`.
        state: what is kept between steps; left out, it is kept in `config`, as "state".

    Returns:
        `x` and the list of the one loss that was seen.

    Raises:
        ValueError: if `nesterov` goes without momentum, or with dampening.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.sgd(square, flambeau.tensor([2.]), {"learningRate": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults: Options = {"learningRate": 1e-3, "learningRateDecay": 0, "weightDecay": 0}
    defaults |= {"momentum": 0, "dampening": None, "nesterov": False}
    defaults |= {"learningRates": None, "weightDecays": None}
    options, state = settings("sgd", config, state, defaults)
    momentum, dampening = options["momentum"], options["dampening"]
    dampening = momentum if dampening is None else dampening
    if options["nesterov"] and (momentum <= 0 or dampening != 0):
        raise ValueError("sgd(): nesterov needs a momentum, and dampening 0")
    loss, gradient = evaluated(opfunc, x, options)
    if options["weightDecays"] is not None:
        gradient.addcmul_(options["weightDecays"], x)
    if momentum:
        if "dfdx" not in state:
            state["dfdx"] = gradient.clone()
        else:
            state["dfdx"].mul_(momentum).add_(gradient, alpha=1 - dampening)
        moved = state["dfdx"]
        gradient = gradient.add(moved, alpha=momentum) if options["nesterov"] else moved
    rate = decayed(options, state.get("evalCounter", 0))
    if options["learningRates"] is not None:
        gradient = gradient * options["learningRates"]
    x.sub_(gradient, alpha=rate)
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, [loss]


def nag(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> Result:
    """A step of Nesterov's accelerated gradient: `x` first moves on as before, and the gradient is
    that of where it comes to.

    Args:
        opfunc, x, state: as in `sgd`.
        config: `learningRate` (0.001), `learningRateDecay`, `weightDecay`, `momentum` (0.9).

    Raises:
        ValueError: if there is no momentum.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses = optim.nag(square, flambeau.tensor([2.]), {"learningRate": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"learningRate": 1e-3, "learningRateDecay": 0, "weightDecay": 0, "momentum": 0.9}
    options, state = settings("nag", config, state, defaults)
    if options["momentum"] <= 0:
        raise ValueError(f"nag(): expected momentum above 0, got {options['momentum']}")
    velocity = state.setdefault("dfdx", flambeau.zeros_like(x))
    velocity.mul_(options["momentum"])
    x.add_(velocity)
    loss, gradient = evaluated(opfunc, x, options)
    step = gradient.mul_(-decayed(options, state.get("evalCounter", 0)))
    x.add_(step)
    velocity.add_(step)
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, [loss]


def asgd(
    opfunc: OpFunc, x: Tensor, config: Options | None = None, state: Options | None = None
) -> tuple[Tensor, list[float], Tensor]:
    """A step of averaged gradient descent (B. Polyak, A. Juditsky, 1992).

    Args:
        opfunc, x, state: as in `sgd`.
        config: `eta0` (1e-4), the first rate; `lambd` (1e-4), the decay; `alpha` (0.75), the power
            that rates fall by; `t0` (1e6), the step at which averaging begins.

    Returns:
        `x`, the list of the loss, and the average of all `x` from step `t0` on.

    Example:
        >>> from flambeau.legacy import optim
        >>> def square(x):
        ...     return (x ** 2).sum(), 2 * x  # the loss and its gradient
        >>> x, losses, *_ = optim.asgd(square, flambeau.tensor([2.]), {"eta0": 0.1})
        >>> float(losses[0]), bool(x.item() < 2)
        (4.0, True)
    """
    defaults = {"eta0": 1e-4, "lambd": 1e-4, "alpha": 0.75, "t0": 1e6}
    options, state = settings("asgd", config, state, defaults)
    before = {"eta_t": options["eta0"], "mu_t": 1.0, "t": 0, **state}
    loss, gradient = opfunc(x)
    x.mul_(1 - options["lambd"] * before["eta_t"]).sub_(gradient, alpha=before["eta_t"])
    average = before.get("ax", x.clone())
    average.lerp_(x, before["mu_t"])
    t = before["t"] + 1
    slower = 1 + options["lambd"] * options["eta0"] * t
    eta, mu = options["eta0"] / slower ** options["alpha"], 1 / max(1, t - options["t0"])
    state.update(t=t, eta_t=eta, mu_t=mu, ax=average)
    return x, [loss], average
