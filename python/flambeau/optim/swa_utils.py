"""Averages of models over the steps of training: plain ones (P. Izmailov et al., Averaging Weights
Leads to Wider Optima and Better Generalization, 2018) and exponential ones (B. Polyak, 1990)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import Module
from flambeau.nn.batchnorm import _BatchNorm
from flambeau.optim.lr_scheduler.base import LRScheduler, each_group
from flambeau.optim.lr_scheduler.one_cycle import check_strategy
from flambeau.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

AverageFn = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverageFn = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must be within [0, 1], got {decay}")


def get_ema_avg_fn(decay: float = 0.999) -> AverageFn:
    """decay * average + (1 - decay) * value, as `avg_fn` of AveragedModel.

    Args:
        decay: between 0 and 1.

    Example:
        >>> average = flambeau.optim.swa_utils.get_ema_avg_fn(0.9)
        >>> average(flambeau.tensor(1.), flambeau.tensor(2.), 5)
        tensor(1.1000)
    """
    _check_decay(decay)

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        with flambeau.no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverageFn:
    """The same of several tensors, in place, as `multi_avg_fn` of AveragedModel. Integers take the
    value that is nearest to zero.

    Args:
        decay: between 0 and 1.

    Example:
        >>> averages = [flambeau.tensor([1.])]
        >>> flambeau.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [flambeau.tensor([2.])], 5)
        >>> averages
        [tensor([1.1000])]
    """
    _check_decay(decay)
    single = get_ema_avg_fn(decay)

    def average(averaged: Sequence[Tensor], current: Sequence[Tensor], count: Any) -> None:
        with flambeau.no_grad():
            for target, value in zip(averaged, current, strict=True):
                target.copy_(single(target, value, count))

    return average


def get_swa_avg_fn() -> AverageFn:
    """average + (value - average) / (count + 1), as `avg_fn` of AveragedModel.

    Example:
        >>> average = flambeau.optim.swa_utils.get_swa_avg_fn()
        >>> average(flambeau.tensor(1.), flambeau.tensor(4.), 2)
        tensor(2.)
    """

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        with flambeau.no_grad():
            return averaged + (current - averaged) / (count + 1)

    return average


def get_swa_multi_avg_fn() -> MultiAverageFn:
    """The same of several tensors, in place, as `multi_avg_fn` of AveragedModel.

    Example:
        >>> averages = [flambeau.tensor([1.])]
        >>> flambeau.optim.swa_utils.get_swa_multi_avg_fn()(averages, [flambeau.tensor([4.])], 2)
        >>> averages
        [tensor([2.])]
    """
    single = get_swa_avg_fn()

    def average(averaged: Sequence[Tensor], current: Sequence[Tensor], count: Any) -> None:
        with flambeau.no_grad():
            for target, value in zip(averaged, current, strict=True):
                target.copy_(single(target, value, count))

    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's over time.

    Args:
        model: what is copied, as `module`.
        device: where the copy goes; None: it stays.
        avg_fn: the new average of (average, value, number of values so far); None: the plain one.
        multi_avg_fn: the same of lists of tensors, in place; only one of the two may be given.
        use_buffers: average buffers, too; else they are copied.

    Shapes: calls take and return what the model's do.

    Source: P. Izmailov et al., Averaging Weights Leads to Wider Optima and Better Generalization,
    2018.

    Source: P. Izmailov et al., Averaging Weights Leads to Wider Optima and Better Generalization,
    2018.

    Example:
        >>> model = flambeau.nn.Linear(1, 1, bias=False)
        >>> average = flambeau.optim.swa_utils.AveragedModel(model)
        >>> for value in (1., 3.):
        ...     with flambeau.no_grad():
        ...         _ = model.weight.fill_(value)
        ...     average.update_parameters(model)
        >>> average.module.weight.item()
        2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageFn | None = None,
        multi_avg_fn: MultiAverageFn | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: expected one of avg_fn and multi_avg_fn")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(flambeau.device(device))
        self.register_buffer("n_averaged", flambeau.tensor(0, dtype=flambeau.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The copy's result."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of a model into the averages; the first ones are taken over."""
        averaged = self._averaged_of(self.module)
        pairs = zip(averaged, self._averaged_of(model), strict=True)
        current = [value.to(target.device) for target, value in pairs]
        with flambeau.no_grad():
            if self.n_averaged == 0:
                for target, value in zip(averaged, current, strict=True):
                    target.copy_(value)
            elif averaged:
                self._average(averaged, current)
            if not self.use_buffers:
                for target, value in zip(self.module.buffers(), model.buffers(), strict=True):
                    target.copy_(value)
            self.n_averaged += 1

    def _averaged_of(self, model: Module) -> list[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return [tensor.detach() for tensor in chain(model.parameters(), buffers)]

    def _average(self, averaged: list[Tensor], current: list[Tensor]) -> None:
        if self.avg_fn is None:
            average = self.multi_avg_fn or get_swa_multi_avg_fn()
            average(averaged, current, self.n_averaged)
            return
        for target, value in zip(averaged, current, strict=True):
            target.copy_(self.avg_fn(target, value, self.n_averaged))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of a model's batch norms anew: plain averages over batches.

    Args:
        loader: batches; of a list or tuple, the first part is the input.
        model: is called with each input, in training mode; its modes come back afterwards.
        device: where inputs go.

    Example:
        >>> model = flambeau.nn.BatchNorm1d(1)
        >>> batches = [flambeau.tensor([[1.], [3.]]), flambeau.tensor([[5.], [7.]])]
        >>> flambeau.optim.swa_utils.update_bn(batches, model)
        >>> model.running_mean
        tensor([4.])
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    try:
        with flambeau.no_grad():
            for batch in loader:
                input = batch[0] if isinstance(batch, list | tuple) else batch
                model(input if device is None else input.to(flambeau.device(device)))
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the rates that are there to swa_lr in anneal_epochs, where they stay.

    Args:
        swa_lr: the last rate, or one per group.
        anneal_epochs: how many epochs it takes; 0: at once.
        anneal_strategy: "cos" or "linear".
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.)
        >>> schedule = flambeau.optim.swa_utils.SWALR(
        ...     optimizer, swa_lr=0.1, anneal_epochs=3, anneal_strategy="linear"
        ... )
        >>> for epoch in range(4):
        ...     optimizer.step()
        ...     schedule.step()
        ...     print(f"{schedule.get_last_lr()[0]:.2f}")
        0.70
        0.40
        0.10
        0.10
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        check_strategy("SWALR", anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"SWALR: anneal_epochs must be an int of at least 0, got {brief(anneal_epochs)}"
            )
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        rates = each_group("SWALR", "swa_lr", swa_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        """How much of the way is done."""
        share = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return share if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2

    def get_lr(self) -> list[float]:
        # Of the rate now and the share before follows the rate at the begin: changes made to a rate
        # in between stay.
        epoch = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = self._share(max(0, epoch - 1)), self._share(epoch)
        result = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            result.append(last * now + first * (1 - now))
        return result
