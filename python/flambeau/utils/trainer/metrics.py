"""Numbers that say how good a model is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief

Measure = Callable[[Any, Any], Any]


class Metric:
    """A number that is built up over the batches of an epoch.

    Subclasses define `reset`, `update` and `compute`, and keep what they count in plain numbers,
    strings, lists, dicts and tensors: all of their attributes go into checkpoints.

    Example:
        >>> class Positives(Metric):
        ...     def reset(self):
        ...         self.count = 0
        ...
        ...     def update(self, outputs, targets):
        ...         self.count += int((outputs > 0).sum())
        ...
        ...     def compute(self):
        ...         return self.count
        >>> positives = Positives()
        >>> positives.reset()
        >>> positives.update(flambeau.tensor([1.0, -1.0, 2.0]), None)
        >>> positives.compute()
        2
    """

    def reset(self) -> None:
        """An epoch begins."""
        raise NotImplementedError(f"{type(self).__name__} does not define reset()")

    def update(self, outputs: Any, targets: Any) -> None:
        """Adds a batch: what the model gave, and what was wanted."""
        raise NotImplementedError(f"{type(self).__name__} does not define update()")

    def compute(self) -> float:
        """The number, of all batches so far."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute()")

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state_dict` returned."""
        vars(self).update(state)


class Mean(Metric):
    """The mean of a function over samples.

    Args:
        function: (outputs, targets) to the mean over a batch, a number or a tensor of one element.
    """

    def __init__(self, function: Measure) -> None:
        self._function = function

    def reset(self) -> None:
        self.total = 0.0
        self.samples = 0

    def update(self, outputs: Any, targets: Any) -> None:
        self.add(float(self._function(outputs, targets)), sample_count(targets, outputs))

    def add(self, mean: float, samples: int) -> None:
        """Adds the mean of some samples."""
        self.total += mean * samples
        self.samples += samples

    def compute(self) -> float:
        return self.total / self.samples if self.samples else float("nan")

    def state_dict(self) -> dict[str, Any]:
        return {"total": self.total, "samples": self.samples}


def accuracy(outputs: Tensor, targets: Tensor) -> float:
    """The share of right answers.

    Args:
        outputs: scores of classes, in dimension 1; or, of the same shape as targets, scores whose
            sign decides between two classes.
        targets: the classes.

    Example:
        >>> accuracy(flambeau.tensor([[0.1, 0.9], [0.8, 0.2]]), flambeau.tensor([1, 1]))
        0.5
    """
    if outputs.shape == targets.shape:
        right = (outputs > 0) == (targets > 0)
    else:
        right = outputs.argmax(1) == targets
    return right.sum().item() / right.numel()


def top_k_accuracy(k: int) -> Measure:
    """The function that gives the share of samples whose class is among the k highest scores.

    Example:
        >>> scores = flambeau.tensor([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]])
        >>> top_k_accuracy(2)(scores, flambeau.tensor([2, 2]))
        0.5
    """

    def share(outputs: Tensor, targets: Tensor) -> float:
        best = outputs.topk(k, 1).indices
        right = (best == targets.unsqueeze(1)).any(1)
        return right.sum().item() / right.numel()

    return share


def named_metrics(metrics: Mapping[str, Any] | Iterable[Any]) -> dict[str, Metric]:
    """Metrics by name, from functions and Metric objects.

    Raises:
        TypeError: for something else.
        ValueError: for two of one name.
    """
    if isinstance(metrics, Mapping):
        pairs = list(metrics.items())
    else:
        pairs = [(getattr(m, "__name__", type(m).__name__), m) for m in metrics]
    result: dict[str, Metric] = {}
    for name, metric in pairs:
        if name in result or name in ("loss", "epoch", "learning_rate"):
            raise ValueError(f"Trainer: metrics: the name {name!r} is taken; give a dict of names")
        if not isinstance(metric, Metric) and not callable(metric):
            raise TypeError(
                f"Trainer: metrics: {name!r} must be a function or a Metric, got {brief(metric)}"
            )
        result[name] = metric if isinstance(metric, Metric) else Mean(metric)
    return result


def sample_count(*values: Any) -> int:
    """How many samples a batch has: the first size of its first tensor that has one."""
    for value in values:
        if isinstance(value, Tensor):
            if value.dim():
                return value.shape[0]
        elif isinstance(value, Mapping):
            return sample_count(*value.values())
        elif isinstance(value, list | tuple) and value:
            return len(value) if isinstance(value[0], str) else sample_count(*value)
    return 1


class Totals:
    """The loss and the metrics of an epoch so far.

    Args:
        metrics: by name.
    """

    def __init__(self, metrics: dict[str, Metric]) -> None:
        self.loss = Mean(lambda outputs, targets: 0.0)
        self.metrics = metrics
        self.reset()

    def reset(self) -> None:
        """An epoch begins."""
        for metric in (self.loss, *self.metrics.values()):
            metric.reset()

    def update(self, loss: float, outputs: Any, targets: Any, samples: int) -> None:
        """Adds a batch."""
        self.loss.add(loss, samples)
        with flambeau.no_grad():
            for metric in self.metrics.values():
                metric.update(outputs, targets)

    def compute(self, prefix: str = "") -> dict[str, float]:
        """Numbers by name, the loss first."""
        named = {"loss": self.loss, **self.metrics}
        return {prefix + name: float(metric.compute()) for name, metric in named.items()}

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        named = {"loss": self.loss, **self.metrics}
        return {name: metric.state_dict() for name, metric in named.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state_dict` returned."""
        for name, metric in {"loss": self.loss, **self.metrics}.items():
            metric.load_state_dict(state[name])
