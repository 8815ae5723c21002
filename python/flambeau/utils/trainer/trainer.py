"""From a dataset, a model, a criterion and an optimizer to a trained model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.amp import GradScaler
from flambeau.nn.utils import clip_grad_norm_, clip_grad_value_
from flambeau.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from flambeau.utils.data.sampler import new_seed
from flambeau.utils.trainer.batches import Batches
from flambeau.utils.trainer.best import EarlyStopping, Watch
from flambeau.utils.trainer.callbacks import Callback
from flambeau.utils.trainer.checkpoint import load_checkpoint, save_checkpoint
from flambeau.utils.trainer.checks import in_a_folder, one_of, positive_int, positive_number
from flambeau.utils.trainer.compute import (
    Unpack,
    device_of,
    evaluated,
    put_through,
    unpacked,
)
from flambeau.utils.trainer.history import History
from flambeau.utils.trainer.metrics import Totals, named_metrics
from flambeau.utils.trainer.progress import ProgressBar
from flambeau.utils.trainer.random_states import derived_seed, seed_all, set_random_state
from flambeau.utils.trainer.reports import reports_to

AnyPath = str | os.PathLike[str]


@dataclass(repr=False, eq=False)
class Trainer:
    """Trains a model; `run()` does it all.

    With a checkpoint, a training that is killed at any moment and started again goes on from the
    last one, and ends with the weights, bit for bit, that it would have had: the order of batches,
    random numbers, the optimizer, the schedule, metrics and callbacks go on where they were.

    Args:
        dataset: samples (inputs..., target), by index or as an IterableDataset.
        model: gets the inputs of a batch.
        criterion: (outputs, targets) to the mean loss of a batch.
        optimizer: of the model's parameters.
        epochs: passes over the dataset.
        batch_size: samples per batch.
        shuffle: in a new random order in each epoch; an IterableDataset has its own.
        drop_last: leave out a last batch that is shorter.
        sampler: gives the indices of an epoch instead of shuffling.
        loader_options: more arguments of the DataLoader, as `{"num_workers": 2}`.
        unpack: a batch to (inputs, targets), for batches that are no (inputs..., targets).
        device: where batches go; None: where the model's parameters are.
        validation: a dataset on which the model is judged after each epoch.
        validation_batch_size: None: batch_size.
        metrics: functions (outputs, targets) to the mean of a batch, or `Metric` objects; a dict
            gives them names.
        schedule: changes learning rates.
        schedule_each: "epoch": steps after an epoch and its validation; "step": after each step of
            the optimizer.
        monitor: the number that early stopping and ReduceLROnPlateau watch; None:
            "validation_loss", or "loss" without validation.
        mode: "min": less of it is better; "max": more is.
        early_stopping: ends after that many epochs without improvement, with the best weights; or
            an `EarlyStopping`.
        clip_norm: the largest norm of all gradients together.
        clip_value: the largest absolute value of a gradient's element.
        accumulate: batches per step of the optimizer, which gets the mean of their gradients.
        autocast: whether the model and the criterion run under `flambeau.autocast`: True in the
            dtype that the device prefers, or in this one; losses in float16 are scaled.
        seed: of the order of batches, and of the random numbers of Flambeau, Python and NumPy when
            training begins; None: an order drawn from the default generator, which goes on.
        checkpoint: a file, written after each epoch, and read when it is there.
        checkpoint_steps: also after that many steps.
        resume: False: begin anew even if there is a checkpoint.
        progress: True: a bar on a terminal, a line per epoch elsewhere; None: the bar, else
            nothing; False: nothing; or a `ProgressBar`.
        csv: a file with a line per epoch.
        curves: a PNG file with a curve per number.
        tensorboard: a folder of logs for TensorBoard, which needs the package tensorboard.
        callbacks: are told what happens.

    Attributes:
        history: what was measured, a row per epoch that is over.
        epoch: how many epochs are over.
        batch: how many batches of this epoch are over.
        step: how many steps the optimizer has made.
        scaler: scales losses in float16; else it is off.
        totals: loss and metrics of this epoch so far; `totals.compute()` gives numbers by name.
        batch_loss: of the last batch.
        stopped: whether this epoch is the last one.

    Raises:
        TypeError, ValueError: for arguments that make no sense, here or in `run`.
        RuntimeError: for a device or dtype without autocast.

    Example:
        >>> from flambeau.utils.data import TensorDataset
        >>> points = flambeau.randn(256, 2)
        >>> dataset = TensorDataset(points, (points.prod(1) > 0).long())
        >>> model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        >>> optimizer = optim.Adam(model.parameters(), lr=0.02)
        >>> trainer = Trainer(dataset, model, nn.CrossEntropyLoss(), optimizer, epochs=30, seed=0)
        >>> trainer.run()
        History(30 epochs: epoch, learning_rate, loss)
        >>> trainer.history["loss"][-1] < 0.2
        True
    """

    dataset: Any
    model: nn.Module
    criterion: Callable[[Any, Any], Tensor]
    optimizer: optim.Optimizer
    _: KW_ONLY
    epochs: int = 1
    batch_size: int = 32
    shuffle: bool = True
    drop_last: bool = False
    sampler: Iterable[int] | None = None
    loader_options: Mapping[str, Any] | None = None
    unpack: Unpack = unpacked
    device: flambeau.device | str | None = None
    validation: Any = None
    validation_batch_size: int | None = None
    metrics: Mapping[str, Any] | Iterable[Any] = ()
    schedule: LRScheduler | None = None
    schedule_each: str = "epoch"
    monitor: str | None = None
    mode: str = "min"
    early_stopping: int | EarlyStopping | None = None
    clip_norm: float | None = None
    clip_value: float | None = None
    accumulate: int = 1
    autocast: bool | flambeau.dtype = False
    seed: int | None = None
    checkpoint: AnyPath | None = None
    checkpoint_steps: int | None = None
    resume: bool = True
    progress: bool | ProgressBar | None = None
    csv: AnyPath | None = None
    curves: AnyPath | None = None
    tensorboard: AnyPath | None = None
    callbacks: Sequence[Callback] = ()

    # Where training is.
    epoch: int = field(default=0, init=False)
    batch: int = field(default=0, init=False)
    step: int = field(default=0, init=False)
    stopped: bool = field(default=False, init=False)
    batch_loss: float = field(default=float("nan"), init=False)
    history: History = field(default_factory=History, init=False)
    used_seed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate"):
            positive_int(name, getattr(self, name))
        for name in ("validation_batch_size", "checkpoint_steps"):
            if getattr(self, name) is not None:
                positive_int(name, getattr(self, name))
        for name in ("clip_norm", "clip_value"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name))
        one_of("schedule_each", self.schedule_each, ("epoch", "step"))
        if self.checkpoint_steps is not None and self.checkpoint is None:
            raise ValueError("Trainer: checkpoint_steps needs a checkpoint")
        if self.checkpoint is not None:
            in_a_folder("checkpoint", self.checkpoint)
        plateau = isinstance(self.schedule, ReduceLROnPlateau)
        if plateau and self.schedule_each == "step":
            raise ValueError("Trainer: ReduceLROnPlateau goes with schedule_each='epoch'")
        self._watch = Watch(self.monitor, self.mode)
        self.totals = Totals(named_metrics(self.metrics))
        self._place = device_of(self.model) if self.device is None else flambeau.device(self.device)
        self._set_precision()
        self.all_callbacks = self._make_callbacks()

    def _set_precision(self) -> None:
        kind, chosen = self._place.type, self.autocast
        self._precision: AbstractContextManager[Any] = nullcontext()
        dtype = None
        if chosen is not False:
            cast = flambeau.autocast(kind, None if chosen is True else chosen)
            self._precision, dtype = cast, cast.fast_dtype
        self.scaler = GradScaler(kind, enabled=dtype is flambeau.float16)

    def _make_callbacks(self) -> list[Callback]:
        made: list[Callback] = []
        stopping = self.early_stopping
        if isinstance(stopping, int):
            stopping = EarlyStopping(stopping, self.monitor, self.mode)
        if stopping is not None:
            made.append(stopping)
        made += self.callbacks
        made += reports_to(self.csv, self.curves, self.tensorboard)
        if self.progress is None or self.progress is True:
            made.append(ProgressBar(lines=self.progress is True))
        elif self.progress:
            made.append(self.progress)
        return made

    def run(self) -> History:
        """Trains until all epochs are over or something calls `stop()`.

        After an exception, another call goes on with the next batch.

        Returns:
            What was measured; the model is trained in place.

        Raises:
            FloatingPointError: if the loss is infinite or no number.
            ValueError: if the checkpoint is of another training.
        """
        random = self._begin()
        self._batches = self._make_batches(self.dataset, self.batch_size, True)
        self._validation = None
        if self.validation is not None:
            size = self.validation_batch_size or self.batch_size
            self._validation = self._make_batches(self.validation, size, False)
        try:
            self._tell("on_start")
            while self.epoch < self.epochs and not self.stopped:
                self._run_epoch(random)
                random = None
            if random is not None:
                set_random_state(random)
            self._tell("on_end")
        finally:
            self._tell("close")
        return self.history

    def stop(self) -> None:
        """Lets this epoch be the last one."""
        self.stopped = True

    def epoch_batches(self) -> int | None:
        """How many batches an epoch has; None if the dataset does not know."""
        try:
            return len(self._batches)
        except TypeError:
            return None

    def _begin(self) -> dict[str, Any] | None:
        """Seeds, or goes back to the checkpoint, whose random numbers' state is returned."""
        if self.checkpoint is not None and self.resume and self.step == 0:
            path = Path(self.checkpoint)
            if path.exists():
                self.used_seed = self.seed or 0
                return load_checkpoint(self, path)
        if self.step == 0:
            self.used_seed = new_seed() if self.seed is None else self.seed
            if self.seed is not None:
                seed_all(self.seed)
        return None

    def _make_batches(self, dataset: Any, batch_size: int, training: bool) -> Batches:
        if not training:
            seed = derived_seed(self.used_seed, "validation")
            return Batches(dataset, batch_size, seed, options=self.loader_options)
        return Batches(
            dataset,
            batch_size,
            self.used_seed,
            shuffle=self.shuffle,
            drop_last=self.drop_last,
            sampler=self.sampler,
            options=self.loader_options,
        )

    def _run_epoch(self, random: dict[str, Any] | None) -> None:
        self.model.train()
        if self.batch == 0:
            self.totals.reset()
        self._tell("on_epoch_start")
        if random is not None:
            set_random_state(random)
        if len(self.history) == self.epoch:  # else a callback failed at its end
            self._learn()
            self._finish_epoch()
        self._tell("on_epoch_end")
        self.epoch, self.batch = self.epoch + 1, 0
        if self.checkpoint is not None:
            save_checkpoint(self, Path(self.checkpoint))

    def _learn(self) -> None:
        pending = 0
        self.optimizer.zero_grad()
        # Closed at once, whatever happens: workers end.
        with closing(self._batches.epoch(self.epoch, self.batch)) as batches:
            for batch in batches:
                self._add_gradients(batch)
                pending += 1
                self.batch += 1
                if pending == self.accumulate:
                    self._step()
                    pending = 0
                self._tell("on_batch_end")
                if pending == 0 and self._checkpoint_is_due():
                    save_checkpoint(self, Path(self.checkpoint))  # type: ignore[arg-type]
        if pending:
            with flambeau.no_grad():
                for parameter in self._parameters():
                    if parameter.grad is not None:
                        parameter.grad.mul_(self.accumulate / pending)
            self._step()

    def _add_gradients(self, batch: Any) -> None:
        result = put_through(
            self.model, self.criterion, batch, self.unpack, self._place, self._precision
        )
        loss = result.loss if self.accumulate == 1 else result.loss / self.accumulate
        self.scaler.scale(loss).backward()
        self.batch_loss = value = result.loss.item()
        if not -float("inf") < value < float("inf"):
            raise FloatingPointError(
                f"Trainer: the loss is {value} in epoch {self.epoch + 1}, batch {self.batch + 1}"
            )
        self.totals.update(value, result.outputs, result.targets, result.samples)

    def _step(self) -> None:
        self.scaler.unscale_(self.optimizer)
        if self.clip_value is not None:
            clip_grad_value_(self._parameters(), self.clip_value)
        if self.clip_norm is not None:
            clip_grad_norm_(self._parameters(), self.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.step += 1
        if self.schedule is not None and self.schedule_each == "step":
            self.schedule.step()

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _checkpoint_is_due(self) -> bool:
        return self.checkpoint_steps is not None and self.step % self.checkpoint_steps == 0

    def _finish_epoch(self) -> None:
        if self.totals.loss.samples == 0:
            raise ValueError("Trainer: an epoch has no batches: the dataset has too few samples")
        row: dict[str, float] = {"epoch": self.epoch + 1}
        row["learning_rate"] = float(self.optimizer.param_groups[0]["lr"])
        row |= self.totals.compute()
        if self._validation is not None:
            found = evaluated(
                self._validation,
                self.model,
                self.criterion,
                self.totals,
                self.unpack,
                self._place,
                self._precision,
            )
            row |= {f"validation_{name}": value for name, value in found.items()}
        self.history.rows.append(row)
        if self.schedule is None or self.schedule_each == "step":
            return
        if isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step(self._watch.value(self))
        else:
            self.schedule.step()

    def _tell(self, event: str) -> None:
        for callback in self.all_callbacks:
            getattr(callback, event)(self)


def train(
    dataset: Any,
    model: nn.Module,
    criterion: Callable[[Any, Any], Tensor],
    optimizer: optim.Optimizer,
    **options: Any,
) -> History:
    """Trains a model; the same as `Trainer(dataset, model, criterion, optimizer, ...).run()`.

    Args:
        dataset: samples (inputs..., target).
        model: is trained in place.
        criterion: (outputs, targets) to the mean loss of a batch.
        optimizer: of the model's parameters.
        options: those of `Trainer`.

    Returns:
        What was measured, epoch by epoch.

    Example:
        >>> from flambeau.utils.data import TensorDataset
        >>> x = flambeau.linspace(-1, 1, 64).unsqueeze(1)
        >>> line = nn.Linear(1, 1)
        >>> sgd = optim.SGD(line.parameters(), lr=0.5)
        >>> history = train(TensorDataset(x, 3 * x + 1), line, nn.MSELoss(), sgd, epochs=20, seed=0)
        >>> round(line.weight.item(), 2), round(line.bias.item(), 2)
        (3.0, 1.0)
    """
    return Trainer(dataset, model, criterion, optimizer, **options).run()
