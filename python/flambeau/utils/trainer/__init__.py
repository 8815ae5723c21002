# mypy: implicit-reexport
"""Training in one call: from a dataset, a model, a criterion and an optimizer to a trained model.

`train(dataset, model, criterion, optimizer, epochs=10)` is all that is needed; `Trainer` lists what
can be asked for beyond that.
"""

from __future__ import annotations

from flambeau.utils.trainer.best import EarlyStopping, SaveBest
from flambeau.utils.trainer.callbacks import Callback
from flambeau.utils.trainer.compute import evaluate
from flambeau.utils.trainer.history import History
from flambeau.utils.trainer.metrics import Metric, accuracy, top_k_accuracy
from flambeau.utils.trainer.progress import ProgressBar
from flambeau.utils.trainer.trainer import Trainer, train

__all__ = [
    "Callback",
    "EarlyStopping",
    "History",
    "Metric",
    "ProgressBar",
    "SaveBest",
    "Trainer",
    "accuracy",
    "evaluate",
    "top_k_accuracy",
    "train",
]
