"""The trainer, compared with loops written out, and what it reports."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trainer_tools import data, network, sgd, trained, weights

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    get_worker_info,
)
from flambeau.utils.trainer import (
    Callback,
    EarlyStopping,
    Metric,
    SaveBest,
    Trainer,
    accuracy,
    evaluate,
    top_k_accuracy,
    train,
)


def by_hand(
    epochs: int, size: int, step: Callable[[nn.Module, optim.Optimizer, int], None]
) -> nn.Module:
    model = network()
    optimizer = sgd(model)
    points, classes = data().tensors
    for epoch in range(epochs):
        for start in range(0, len(points), size):
            optimizer.zero_grad()
            batch = slice(start, start + size)
            nn.functional.cross_entropy(model(points[batch]), classes[batch]).backward()
            step(model, optimizer, epoch)
    return model


def test_it_is_the_loop_one_would_write() -> None:
    wanted = by_hand(4, 6, lambda model, optimizer, epoch: optimizer.step())
    model, trainer = trained(epochs=4)
    assert weights(model) == weights(wanted)
    assert trainer.step == 16
    assert trainer.history["epoch"] == [1, 2, 3, 4]


def test_loss_and_metrics_are_means_over_samples() -> None:
    """With a rate of zero; the last batch is shorter."""
    model = network()
    points, classes = data(26).tensors
    history = train(
        TensorDataset(points, classes),
        model,
        nn.CrossEntropyLoss(),
        optim.SGD(model.parameters(), lr=0.0),
        batch_size=8,
        metrics={"right": accuracy, "top": top_k_accuracy(2)},
        validation=data(),
        validation_batch_size=5,
    )
    scores = model(points)
    row = history.last
    assert row["loss"] == pytest.approx(nn.functional.cross_entropy(scores, classes).item())
    right = np.mean(scores.detach().numpy().argmax(1) == classes.numpy())
    assert row["right"] == pytest.approx(right)
    assert row["top"] == 1
    found = evaluate(data(), model, nn.CrossEntropyLoss(), metrics=[accuracy], batch_size=7)
    assert found["loss"] == pytest.approx(row["validation_loss"])
    assert found["accuracy"] == pytest.approx(row["validation_right"])


def test_clipping() -> None:
    def norm(model: nn.Module, optimizer: optim.Optimizer, epoch: int) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        optimizer.step()

    def value(model: nn.Module, optimizer: optim.Optimizer, epoch: int) -> None:
        for parameter in model.parameters():
            parameter.grad.clamp_(-0.02, 0.02)
        optimizer.step()

    assert weights(trained(epochs=2, clip_norm=0.05)[0]) == weights(by_hand(2, 6, norm))
    assert weights(trained(epochs=2, clip_value=0.02)[0]) == weights(by_hand(2, 6, value))


@pytest.mark.parametrize(("size", "batches"), [(3, 4), (2, 5), (8, 3), (24, 7)])
def test_accumulated_gradients_are_those_of_large_batches(size: int, batches: int) -> None:
    """The last step of an epoch may have fewer batches than the others."""
    wanted = by_hand(2, size * batches, lambda model, optimizer, epoch: optimizer.step())
    model, trainer = trained(epochs=2, batch_size=size, accumulate=batches)
    np.testing.assert_allclose(weights(model), weights(wanted), rtol=1e-4, atol=1e-6)
    assert trainer.step == 2 * math.ceil(24 / (size * batches))


def test_schedules() -> None:
    def halved(model: nn.Module, optimizer: optim.Optimizer, epoch: int) -> None:
        optimizer.param_groups[0]["lr"] = 0.1 * 0.5**epoch
        optimizer.step()

    model = network()
    optimizer = sgd(model)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    trainer = Trainer(
        *(data(), model, nn.CrossEntropyLoss(), optimizer),
        epochs=3,
        batch_size=6,
        shuffle=False,
        schedule=schedule,
    )
    assert trainer.run()["learning_rate"] == [0.1, 0.05, 0.025]
    assert weights(model) == weights(by_hand(3, 6, halved))

    model = network()
    optimizer = sgd(model)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=12)
    options: dict[str, Any] = {"epochs": 3, "batch_size": 6, "schedule_each": "step"}
    train(data(), model, nn.CrossEntropyLoss(), optimizer, schedule=schedule, **options)
    assert schedule.last_epoch == 12

    model = network()
    optimizer = optim.SGD(model.parameters(), lr=1e-20)
    plateau = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, eps=0)
    history = train(
        *(data(), model, nn.CrossEntropyLoss(), optimizer),
        epochs=5,
        batch_size=24,
        shuffle=False,
        schedule=plateau,
    )
    assert history["learning_rate"][-1] == pytest.approx(1e-21)


class Scripted(Metric):
    """A metric that is told what to say."""

    def __init__(self, values: list[float]) -> None:
        self.values = values
        self.calls = 0

    def reset(self) -> None:
        pass

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        assert not outputs.requires_grad or not flambeau.is_grad_enabled()

    def compute(self) -> float:
        self.calls += 1
        return self.values[self.calls - 1]


class Weights(Callback):
    def __init__(self) -> None:
        self.after: list[list[float]] = []

    def on_epoch_end(self, trainer: Trainer) -> None:
        self.after.append(weights(trainer.model))


@pytest.mark.parametrize("mode", ["min", "max"])
def test_early_stopping_gives_the_best_weights(mode: str, tmp_path: Path) -> None:
    sign = 1 if mode == "min" else -1
    script = [sign * value for value in (5, 4, 6, 3, 7, 4, 2)]
    after = Weights()
    model, trainer = trained(
        epochs=7,
        metrics={"script": Scripted(script)},
        monitor="script",
        mode=mode,
        early_stopping=2,
        callbacks=[after, SaveBest(tmp_path / "best.pt", "script", mode)],
    )
    assert trainer.history["script"] == script[:6]
    assert trainer.stopped
    assert weights(model) == after.after[3] != after.after[5]
    other = network(9)
    other.load_state_dict(flambeau.load(tmp_path / "best.pt"))
    assert weights(other) == after.after[3]
    stopping = EarlyStopping(9, "script", mode, restore_best=False)
    options: dict[str, Any] = {"epochs": 5, "callbacks": [after := Weights()]}
    model, _ = trained(metrics={"script": Scripted(script)}, early_stopping=stopping, **options)
    assert weights(model) == after.after[-1]
    assert stopping.best_epoch == 4


def test_validation_leaves_modes_and_training_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
    model[2].eval()
    evaluate(data(), model, nn.CrossEntropyLoss())
    assert [m.training for m in model] == [True, True, False]
    assert model[2].num_batches_tracked == 0

    def run(validation: Any) -> list[float]:
        flambeau.manual_seed(1)
        model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        options: dict[str, Any] = {"epochs": 3, "seed": 4, "validation": validation}
        train(data(), model, nn.CrossEntropyLoss(), sgd(model), **options)
        return weights(model)

    assert run(None) == run(data())


def test_seeds_decide_everything() -> None:
    def run(seed: int | None, before: int) -> list[float]:
        model = network()
        flambeau.manual_seed(before)
        train(data(), model, nn.CrossEntropyLoss(), sgd(model), batch_size=4, seed=seed)
        return [*weights(model), flambeau.rand(()).item()]

    assert run(3, 1) == run(3, 2) != run(4, 1)
    assert run(None, 1) == run(None, 1) != run(None, 2)
    train(data(), model := network(), nn.CrossEntropyLoss(), sgd(model), seed=3)
    first = random.random(), np.random.rand()
    train(data(), model := network(), nn.CrossEntropyLoss(), sgd(model), seed=3)
    assert (random.random(), np.random.rand()) == first


class Orders(Callback):
    """Which samples came, epoch by epoch."""

    def __init__(self) -> None:
        self.seen: list[list[float]] = []

    def on_epoch_start(self, trainer: Trainer) -> None:
        self.seen.append([])

    def unpack(self, batch: Any) -> Any:
        self.seen[-1] += batch[0][:, 0].tolist()
        return (batch[0],), batch[1]


@pytest.mark.parametrize("with_sampler", [False, True])
def test_each_epoch_has_an_order_of_its_own(with_sampler: bool) -> None:
    orders = Orders()
    sampler = RandomSampler(range(24)) if with_sampler else None
    options = {"callbacks": [orders], "unpack": orders.unpack, "shuffle": True}
    trained(epochs=3, sampler=sampler, seed=1, **options)
    all_samples = sorted(data().tensors[0][:, 0].tolist())
    assert [sorted(order) for order in orders.seen] == [all_samples] * 3
    assert len({tuple(order) for order in orders.seen}) == 3


def test_streams_of_unknown_length() -> None:
    class Stream(IterableDataset[Any]):
        epoch = -1

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __iter__(self) -> Iterator[Any]:
            points, classes = data().tensors
            return iter(list(zip(points, classes, strict=True))[: 12 + self.epoch])

    model, stream = network(), Stream()
    history = train(stream, model, nn.CrossEntropyLoss(), sgd(model), epochs=2, batch_size=5)
    assert len(history) == 2
    assert stream.epoch == 1
    with pytest.raises(ValueError, match="no sampler"):
        train(stream, model, nn.CrossEntropyLoss(), sgd(model), sampler=[1])
    loader = {"num_workers": 1, "persistent_workers": True}
    with pytest.raises(ValueError, match="persistent_workers"):
        train(stream, model, nn.CrossEntropyLoss(), sgd(model), loader_options=loader)


def test_batches_of_any_form() -> None:
    class Named(TensorDataset):
        def __getitem__(self, index: Any) -> Any:
            point, kind = super().__getitem__(index)
            return {"point": point, "kind": kind}

    model = network()
    history = train(
        *(Named(*data().tensors), model, nn.CrossEntropyLoss(), sgd(model)),
        unpack=lambda batch: ((batch["point"],), batch["kind"]),
        metrics=[accuracy],
    )
    assert 0 <= history.last["accuracy"] <= 1

    class Sum(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return a + b

    points = data().tensors[0]
    triples = TensorDataset(points, 2 * points, 3 * points)
    assert evaluate(triples, Sum(), nn.MSELoss())["loss"] < 1e-12


def _look(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    assert len(info.dataset.tensors) == 2


def test_workers_see_the_dataset() -> None:
    trained(loader_options={"num_workers": 1, "worker_init_fn": _look})
    options = {"num_workers": 1, "persistent_workers": True, "multiprocessing_context": "spawn"}
    model, _ = trained(epochs=2, loader_options=options)
    assert weights(model) == weights(trained(epochs=2)[0])


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16])
def test_mixed_precision(dtype: flambeau.dtype, tmp_path: Path) -> None:
    """Outputs are in the lower dtype, in training and validation; the loss stays near float32's."""
    seen = set()

    def kind(outputs: Tensor, targets: Tensor) -> float:
        seen.add(outputs.dtype)
        return 0.0

    options: dict[str, Any] = {"epochs": 4, "validation": data(), "clip_norm": 1.0}
    options["checkpoint"] = tmp_path / "it.pt"
    _, exact = trained(**{**options, "checkpoint": None})
    model, lower = trained(**options, metrics=[kind], autocast=dtype)
    assert seen == {dtype}
    assert {p.dtype for p in model.parameters()} == {flambeau.float32}
    assert lower.history["validation_loss"] == pytest.approx(exact.history["validation_loss"], 0.01)
    assert lower.scaler.is_enabled() is (dtype is flambeau.float16)
    _, again = trained(**{**options, "epochs": 5}, metrics=[kind], autocast=dtype)
    good_steps = again.scaler.state_dict().get("_growth_tracker", 20)
    assert good_steps == 20  # of 5 epochs: it went on where it was


def test_a_step_whose_gradients_overflow_is_left_out() -> None:
    model, trainer = trained(epochs=1, autocast=flambeau.float16)
    before = weights(model)
    trainer.scaler.load_state_dict({**trainer.scaler.state_dict(), "scale": 2.0**120})
    trainer.epochs = 2
    trainer.batch_size = 24
    trainer.run()
    assert weights(model) == before
    assert trainer.scaler.get_scale() == 2.0**119


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs must be positive, got 0"),
        ({"epochs": 1.5}, TypeError, "epochs must be an int, got 1.5"),
        ({"batch_size": True}, TypeError, "batch_size must be an int"),
        ({"accumulate": -1}, ValueError, "accumulate must be positive"),
        ({"clip_norm": 0}, ValueError, "clip_norm must be positive"),
        ({"clip_value": "1"}, TypeError, "clip_value must be a number"),
        ({"autocast": flambeau.float32}, RuntimeError, "expected dtype bfloat16 or float16"),
        ({"mode": "best"}, ValueError, "mode must be 'min' or 'max'"),
        ({"schedule_each": "batch"}, ValueError, "'epoch' or 'step'"),
        ({"checkpoint_steps": 5}, ValueError, "needs a checkpoint"),
        ({"metrics": [accuracy, accuracy]}, ValueError, "'accuracy' is taken"),
        ({"metrics": [3]}, TypeError, "must be a function or a Metric"),
        ({"early_stopping": 0}, ValueError, "patience must be positive"),
        ({"early_stopping": 1, "monitor": "nothing"}, ValueError, "there is no 'nothing', only"),
        ({"loader_options": {"shuffle": True}}, ValueError, "must not have 'shuffle'"),
        ({"batch_size": 50, "drop_last": True}, ValueError, "an epoch has no batches"),
        ({"checkpoint": "/nowhere/at/all.pt"}, ValueError, "checkpoint: the folder of"),
        ({"csv": "/nowhere/at/all.csv"}, ValueError, "csv: the folder of /nowhere/at/all.csv"),
        ({"curves": "/nowhere/at/all.png"}, ValueError, "curves: the folder"),
        ({"unpack": lambda batch: 3}, TypeError, "unpack"),
        ({"loader_options": {"num_workers": -1}}, ValueError, "num_workers"),
    ],
)
def test_mistakes(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        trained(**options)


def test_mistakes_in_data() -> None:
    model = network()
    rest: Any = (model, nn.CrossEntropyLoss(), sgd(model))
    with pytest.raises(TypeError, match="rather than a DataLoader"):
        train(DataLoader(data()), *rest)
    with pytest.raises(TypeError, match=r"a batch must be a sequence \(inputs..., targets\)"):
        train(TensorDataset(flambeau.ones(3, 3)), *rest)
    with pytest.raises(ValueError, match="the criterion must give a tensor of one element"):
        train(data(), model, lambda outputs, targets: outputs, sgd(model))
    points = flambeau.ones(64, 3)
    points[40] = math.nan
    classes = flambeau.zeros(64, dtype=flambeau.int64)
    with pytest.raises(FloatingPointError, match="the loss is nan in epoch 1, batch 2"):
        train(TensorDataset(points, classes), *rest, shuffle=False)


def test_checkpoints_of_other_trainings(tmp_path: Path) -> None:
    path = tmp_path / "it.pt"
    model, trainer = trained(epochs=2, checkpoint=path, seed=1)
    again, other = trained(epochs=2, checkpoint=path, seed=1)
    assert weights(again) == weights(model)
    assert other.history.rows == trainer.history.rows
    longer, other = trained(epochs=3, checkpoint=path)
    assert other.history.rows[:2] == trainer.history.rows
    straight, _ = trained(epochs=3, seed=1)
    assert weights(longer) == weights(straight)
    for options, message in (
        ({"batch_size": 7}, r"has batch_size 6, this training has 7; resume=False begins anew"),
        ({"seed": 2}, "has seed 1, this training has 2"),
        ({"early_stopping": 2}, r"has callbacks \[\], this training has \['EarlyStopping'\]"),
        ({"optimizer": lambda model: sgd(model.append(nn.Linear(2, 2)))}, "is of another model"),
    ):
        with pytest.raises(ValueError, match=message):
            trained(checkpoint=path, **options)
    _, other = trained(epochs=1, checkpoint=path, batch_size=7, resume=False)
    assert len(other.history) == 1
    flambeau.save({"a": 1}, path)
    with pytest.raises(ValueError, match="is no checkpoint"):
        trained(checkpoint=path)


def test_checkpoints_that_could_not_be_read(tmp_path: Path) -> None:
    class Counting(Callback):
        def state_dict(self) -> dict[str, Any]:
            return {"counts": [1, np.float64(2)]}

    message = r"callbacks\[0\]\[1\]\['counts'\]\[1\] is of type float64: checkpoints hold tensors"
    with pytest.raises(TypeError, match=message):
        trained(checkpoint=tmp_path / "it.pt", callbacks=[Counting()])
    assert os.listdir(tmp_path) == []


def test_running_again_after_an_exception() -> None:
    class Failing(Callback):
        def __init__(self) -> None:
            self.calls = 0

        def on_batch_end(self, trainer: Trainer) -> None:
            self.calls += 1
            if self.calls == 6:
                raise OSError("in a batch")

        def on_epoch_end(self, trainer: Trainer) -> None:
            self.calls += 1
            if self.calls == 10:
                raise OSError("after an epoch")

    model = network()
    options: dict[str, Any] = {"epochs": 3, "batch_size": 6, "shuffle": False}
    trainer = Trainer(
        *(data(), model, nn.CrossEntropyLoss(), sgd(model)), callbacks=[Failing()], **options
    )
    for message in ("in a batch", "after an epoch"):
        with pytest.raises(OSError, match=message):
            trainer.run()
    assert len(trainer.run()) == 3
    assert trainer.step == 12
    straight, other = trained(epochs=3)
    assert weights(model) == weights(straight)
    assert trainer.history["loss"] == other.history["loss"]


def test_workers_end_with_training() -> None:
    class Stopping(Callback):
        def on_batch_end(self, trainer: Trainer) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        trained(callbacks=[Stopping()], loader_options={"num_workers": 2})
    assert kept.tb is not None
    assert not multiprocessing.active_children()


def test_an_interrupted_write_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.pt"
    trained(epochs=1, checkpoint=path, seed=1)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        trained(epochs=2, checkpoint=path, seed=1)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["it.pt"]


def test_order_of_events() -> None:
    class Noted(Callback):
        def __init__(self) -> None:
            self.events: list[str] = []

    for event in ("on_start", "on_epoch_start", "on_batch_end", "on_epoch_end", "on_end", "close"):
        setattr(Noted, event, lambda self, trainer, event=event: self.events.append(event))
    noted = Noted()
    trained(epochs=2, batch_size=12, callbacks=[noted])
    epoch = ["on_epoch_start", "on_batch_end", "on_batch_end", "on_epoch_end"]
    assert noted.events == ["on_start", *epoch, *epoch, "on_end", "close"]

    class Stopping(Callback):
        def on_batch_end(self, trainer: Trainer) -> None:
            raise KeyboardInterrupt

    noted.events.clear()
    with pytest.raises(KeyboardInterrupt):
        trained(callbacks=[noted, Stopping()])
    assert noted.events == ["on_start", "on_epoch_start", "on_batch_end", "close"]
