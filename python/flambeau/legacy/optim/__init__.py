# mypy: implicit-reexport
"""Optimizers as functions: `x, losses = sgd(opfunc, x, config, state)`."""

from __future__ import annotations

from flambeau.legacy.optim.adaptive import adadelta, adagrad, adam, adamax, rmsprop, rprop
from flambeau.legacy.optim.descent import asgd, nag, sgd
from flambeau.legacy.optim.line_searches import cg, lbfgs

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "asgd",
    "cg",
    "lbfgs",
    "nag",
    "rmsprop",
    "rprop",
    "sgd",
]
