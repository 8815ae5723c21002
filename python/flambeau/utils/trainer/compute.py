"""What a batch is put through: devices, the model, the criterion; and validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau._values import brief
from flambeau.utils.trainer.batches import Batches
from flambeau.utils.trainer.metrics import Totals, named_metrics, sample_count

Unpack = Callable[[Any], tuple[tuple[Any, ...], Any]]


@dataclass(frozen=True)
class Result:
    """What came of a batch."""

    loss: Tensor
    outputs: Any
    targets: Any
    samples: int


def unpacked(batch: Any) -> tuple[tuple[Any, ...], Any]:
    """(inputs of the model, targets) of a batch whose last part is the targets.

    Raises:
        TypeError: for a batch that is no sequence of at least two parts.
    """
    if not isinstance(batch, list | tuple) or len(batch) < 2:
        raise TypeError(
            f"Trainer: a batch must be a sequence (inputs..., targets), got {brief(batch)}; the "
            "option unpack says what other batches mean"
        )
    return tuple(batch[:-1]), batch[-1]


def moved(value: Any, device: flambeau.device) -> Any:
    """A batch with its tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, Mapping):
        return {key: moved(part, device) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(part, device) for part in value))
    if isinstance(value, list | tuple):
        return type(value)(moved(part, device) for part in value)
    return value


def device_of(model: nn.Module) -> flambeau.device:
    """Where a model's parameters are; the CPU if it has none."""
    parameter = next(iter(model.parameters()), None)
    return flambeau.device("cpu") if parameter is None else parameter.device


def put_through(
    model: nn.Module,
    criterion: Callable[[Any, Any], Tensor],
    batch: Any,
    unpack: Unpack,
    device: flambeau.device,
    precision: AbstractContextManager[Any],
) -> Result:
    """A batch's outputs and loss; `precision` is around the model and the criterion.

    Raises:
        ValueError: if the loss is not one number.
    """
    inputs, targets = unpack(moved(batch, device))
    with precision:
        outputs = model(*inputs)
        loss = criterion(outputs, targets)
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        seen = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else brief(loss)
        raise ValueError(f"Trainer: the criterion must give a tensor of one element, got {seen}")
    return Result(loss, outputs, targets, sample_count(inputs, targets))


def evaluate(
    dataset: Any,
    model: nn.Module,
    criterion: Callable[[Any, Any], Tensor],
    *,
    metrics: Mapping[str, Any] | Iterable[Any] = (),
    batch_size: int = 32,
    unpack: Unpack = unpacked,
    seed: int = 0,
    loader_options: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """The loss and metrics of a model over a dataset, without gradients, in evaluation mode.

    Args:
        dataset: samples (inputs..., target).
        model: its mode is as before afterwards.
        criterion: (outputs, targets) to the mean loss of a batch.
        metrics: functions (outputs, targets) to the mean of a batch, or `Metric` objects; a dict
            gives them names.
        batch_size: samples per batch.
        unpack: a batch to (inputs, targets), for other batches.
        seed: of random numbers that samples draw.
        loader_options: more arguments of the DataLoader, as num_workers.

    Returns:
        "loss" and the metrics by name.

    Example:
        >>> from flambeau.utils.data import TensorDataset
        >>> dataset = TensorDataset(flambeau.eye(4), flambeau.tensor([0, 1, 2, 0]))
        >>> from flambeau.utils.trainer import accuracy
        >>> evaluate(dataset, nn.Identity(), nn.CrossEntropyLoss(), metrics=[accuracy])
        {'loss': 0.9936..., 'accuracy': 0.75}
    """
    batches = Batches(dataset, batch_size, seed, options=loader_options)
    totals = Totals(named_metrics(metrics))
    device = device_of(model)
    return evaluated(batches, model, criterion, totals, unpack, device, nullcontext())


def evaluated(
    batches: Batches,
    model: nn.Module,
    criterion: Callable[[Any, Any], Tensor],
    totals: Totals,
    unpack: Unpack,
    device: flambeau.device,
    precision: AbstractContextManager[Any],
) -> dict[str, float]:
    """The same of batches; random samples are the same each time."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    totals.reset()
    try:
        with flambeau.no_grad(), closing(batches.epoch(0)) as epoch:
            for batch in epoch:
                result = put_through(model, criterion, batch, unpack, device, precision)
                totals.update(result.loss.item(), result.outputs, result.targets, result.samples)
    finally:
        for module, training in modes:
            module.training = training
    return totals.compute()
