# mypy: implicit-reexport
"""Optimizers, and schedules of their learning rates."""

from __future__ import annotations

from flambeau.optim import lr_scheduler
from flambeau.optim.adadelta import Adadelta, Adamax
from flambeau.optim.adafactor import Adafactor
from flambeau.optim.adagrad import Adagrad
from flambeau.optim.adam import Adam, AdamW
from flambeau.optim.asgd import ASGD
from flambeau.optim.nadam import NAdam
from flambeau.optim.optimizer import Optimizer
from flambeau.optim.radam import RAdam
from flambeau.optim.rmsprop import RMSprop
from flambeau.optim.rprop import Rprop
from flambeau.optim.sgd import SGD

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
