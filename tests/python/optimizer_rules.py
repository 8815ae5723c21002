"""The update rules of optimizers in NumPy, as the papers give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau import optim

Array = np.ndarray


def sgd(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    momentum, dampening = o.get("momentum", 0), o.get("dampening", 0)
    buffer = None
    for g in grads:
        d = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
        if momentum:
            buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
            d = d + momentum * buffer if o.get("nesterov") else buffer
        p = p - lr * d
    return p


def adam(p: Array, grads: list[Array], lr: float, decoupled: bool = False, **o: Any) -> Array:
    (b1, b2), eps = o.get("betas", (0.9, 0.999)), o.get("eps", 1e-8)
    decay = o.get("weight_decay", 0.01 if decoupled else 0)
    m = v = largest = np.zeros_like(p)
    for t, g in enumerate(grads, start=1):
        g = -g if o.get("maximize") else g
        if decoupled:
            p = p * (1 - lr * decay)
        else:
            g = g + decay * p
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        largest = np.maximum(largest, v)
        used = largest if o.get("amsgrad") else v
        p = p - lr / (1 - b1**t) * m / (np.sqrt(used / (1 - b2**t)) + eps)
    return p


def adamw(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    return adam(p, grads, lr, decoupled=True, **o)


def rmsprop(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    alpha, eps, momentum = o.get("alpha", 0.99), o.get("eps", 1e-8), o.get("momentum", 0)
    squares = mean = buffer = np.zeros_like(p)
    for g in grads:
        g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
        squares = alpha * squares + (1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g
        spread = squares - mean**2 if o.get("centered") else squares
        buffer = momentum * buffer + g / (np.sqrt(spread) + eps)
        p = p - lr * buffer
    return p


def adagrad(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    total = np.full_like(p, o.get("initial_accumulator_value", 0))
    for t, g in enumerate(grads):
        g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
        total = total + g * g
        p = p - lr / (1 + t * o.get("lr_decay", 0)) * g / (np.sqrt(total) + o.get("eps", 1e-10))
    return p


def adadelta(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    rho, eps = o.get("rho", 0.9), o.get("eps", 1e-6)
    squares = moved = np.zeros_like(p)
    for g in grads:
        g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
        squares = rho * squares + (1 - rho) * g * g
        step = np.sqrt(moved + eps) / np.sqrt(squares + eps) * g
        moved = rho * moved + (1 - rho) * step**2
        p = p - lr * step
    return p


def adamax(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    b1, b2 = o.get("betas", (0.9, 0.999))
    m = u = np.zeros_like(p)
    for t, g in enumerate(grads, start=1):
        g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
        m = b1 * m + (1 - b1) * g
        u = np.maximum(b2 * u, abs(g) + 1e-8)
        p = p - lr / (1 - b1**t) * m / u
    return p


def nadam(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    """Dozat's algorithm, with the schedule of decays that he proposes."""
    (b1, b2), psi = o.get("betas", (0.9, 0.999)), o.get("momentum_decay", 4e-3)
    decays = [b1 * (1 - 0.5 * 0.96 ** (t * psi)) for t in range(1, len(grads) + 2)]
    m = v = np.zeros_like(p)
    for t, g in enumerate(grads, start=1):
        p, g = _decayed(p, g, lr, o)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        now, ahead = np.prod(decays[:t]), np.prod(decays[: t + 1])
        mean = decays[t] * m / (1 - ahead) + (1 - decays[t - 1]) * g / (1 - now)
        p = p - lr * mean / (np.sqrt(v / (1 - b2**t)) + o.get("eps", 1e-8))
    return p


def radam(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    """Algorithm 2 of Liu et al."""
    b1, b2 = o.get("betas", (0.9, 0.999))
    m = v = np.zeros_like(p)
    most = 2 / (1 - b2) - 1
    for t, g in enumerate(grads, start=1):
        p, g = _decayed(p, g, lr, o)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        mean = m / (1 - b1**t)
        length = most - 2 * t * b2**t / (1 - b2**t)
        if length > 5:
            top = (length - 4) * (length - 2) * most
            bottom = (most - 4) * (most - 2) * length
            adapted = np.sqrt(1 - b2**t) / (np.sqrt(v) + o.get("eps", 1e-8))
            p = p - lr * np.sqrt(top / bottom) * mean * adapted
        else:
            p = p - lr * mean
    return p


def rprop(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    """Element by element, as Riedmiller and Braun tell it, without going back."""
    shrink, grow = o.get("etas", (0.5, 1.2))
    least, most = o.get("step_sizes", (1e-6, 50))
    p = np.array(p)
    for at in np.ndindex(p.shape):
        size, last = lr, 0.0
        for g in grads:
            here = -g[at] if o.get("maximize") else g[at]
            if last * here > 0:
                size = min(size * grow, most)
            elif last * here < 0:
                size, here = max(size * shrink, least), 0.0
            p[at] -= np.sign(here) * size
            last = here
    return p


def asgd(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    lambd, alpha = o.get("lambd", 1e-4), o.get("alpha", 0.75)
    for t, g in enumerate(grads):
        p, g = _decayed(p, g, lr, o)
        rate = lr / (1 + lambd * lr * t) ** alpha
        p = p * (1 - lambd * rate) - rate * g
    return p


def adafactor(p: Array, grads: list[Array], lr: float, **o: Any) -> Array:
    """Algorithms 4 and 5 of Shazeer and Stern, with means instead of sums."""
    first, second = o.get("eps", (1e-12, 1e-3))
    rows = columns = whole = 0.0
    for t, g in enumerate(grads, start=1):
        rate = min(lr, t**-0.5) * max(second, np.sqrt(np.mean(p**2)))
        p = p * (1 - lr * o.get("weight_decay", 0))
        g = -g if o.get("maximize") else g
        b2 = 1 - t ** o.get("beta2_decay", -0.8)
        whole = b2 * whole + (1 - b2) * g**2
        v = whole
        if g.ndim > 1:
            rows = b2 * rows + (1 - b2) * (g**2).mean(-1)
            columns = b2 * columns + (1 - b2) * (g**2).mean(-2)
            v = (
                np.einsum("...i,...j->...ij", rows, columns)
                / np.maximum(rows.mean(-1), first)[..., None, None]
            )
        u = g / np.maximum(np.sqrt(v), first)
        p = p - rate * u / max(1, np.sqrt(np.mean(u**2)) / o.get("d", 1.0))
    return p


def _decayed(p: Array, g: Array, lr: float, o: dict[str, Any]) -> tuple[Array, Array]:
    g = -g if o.get("maximize") else g
    if o.get("decoupled_weight_decay"):
        return p * (1 - lr * o["weight_decay"]), g
    return p, g + o.get("weight_decay", 0) * p


RULES: list[tuple[Any, Callable[..., Array], dict[str, Any]]] = [
    (optim.SGD, sgd, {}),
    (optim.SGD, sgd, {"weight_decay": 0.1, "maximize": True}),
    (optim.SGD, sgd, {"momentum": 0.9}),
    (optim.SGD, sgd, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"momentum": 0.5, "maximize": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"betas": (0.5, 0.7), "eps": 1e-3, "weight_decay": 0.1}),
    (optim.Adam, adam, {"amsgrad": True, "betas": (0.3, 0.4)}),
    (optim.Adam, adam, {"maximize": True}),
    (optim.AdamW, adamw, {}),
    (optim.AdamW, adamw, {"weight_decay": 0.3, "amsgrad": True, "betas": (0.3, 0.4)}),
    (optim.RMSprop, rmsprop, {}),
    (optim.RMSprop, rmsprop, {"momentum": 0.7, "alpha": 0.8, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"centered": True, "alpha": 0.8, "maximize": True}),
    (optim.Adagrad, adagrad, {}),
    (
        optim.Adagrad,
        adagrad,
        {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    ),
    (optim.Adadelta, adadelta, {"weight_decay": 0.1}),
    (optim.Adamax, adamax, {"weight_decay": 0.1}),
    (optim.NAdam, nadam, {}),
    (optim.NAdam, nadam, {"weight_decay": 0.1, "momentum_decay": 0.3, "maximize": True}),
    (
        optim.NAdam,
        nadam,
        {"weight_decay": 0.3, "decoupled_weight_decay": True, "betas": (0.5, 0.7), "eps": 1e-3},
    ),
    (optim.RAdam, radam, {}),
    (optim.RAdam, radam, {"betas": (0.8, 0.9), "weight_decay": 0.1, "maximize": True}),
    (
        optim.RAdam,
        radam,
        {"weight_decay": 0.3, "decoupled_weight_decay": True, "betas": (0.5, 0.9), "eps": 1e-3},
    ),
    (optim.Rprop, rprop, {}),
    (optim.Rprop, rprop, {"etas": (0.3, 1.7), "step_sizes": (0.04, 0.08), "maximize": True}),
    (optim.ASGD, asgd, {}),
    (optim.ASGD, asgd, {"lambd": 0.3, "alpha": 0.5, "weight_decay": 0.1, "maximize": True}),
    (optim.Adafactor, adafactor, {}),
    (optim.Adafactor, adafactor, {"weight_decay": 0.3, "d": 1.5, "beta2_decay": -0.5}),
    (optim.Adafactor, adafactor, {"eps": (0.4, 2.0), "maximize": True}),
]
