# mypy: implicit-reexport
"""Optimizers, and schedules of their learning rates."""

from __future__ import annotations

from flambeau.optim import lr_scheduler
from flambeau.optim.adadelta import Adadelta, Adamax
from flambeau.optim.adagrad import Adagrad
from flambeau.optim.adam import Adam, AdamW
from flambeau.optim.optimizer import Optimizer
from flambeau.optim.rmsprop import RMSprop
from flambeau.optim.sgd import SGD

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Optimizer",
    "RMSprop",
    "lr_scheduler",
]
