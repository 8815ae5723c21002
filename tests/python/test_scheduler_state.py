"""What schedules save has the keys of PyTorch's files, so that either goes on for the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.optim import Optimizer, lr_scheduler
from flambeau.optim.lr_scheduler import LRScheduler
from flambeau.optim.swa_utils import SWALR

# As files of PyTorch 2.13 have them.
COMMON = "base_lrs last_epoch _step_count _is_initial _get_lr_called_within_step _last_lr"
CYCLE = "cycle_momentum use_beta1"
CYCLIC = f"max_lrs total_size step_ratio mode gamma scale_mode {CYCLE} base_momentums max_momentums"
WORSE = "default_min_lr mode_worse best cooldown_counter num_bad_epochs"
SCHEDULES: dict[str, tuple[Callable[[Optimizer], LRScheduler], str]] = {
    "LambdaLR": (lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.9**e), f"{COMMON} lr_lambdas"),
    "MultiplicativeLR": (
        lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.9),
        f"{COMMON} lr_lambdas",
    ),
    "StepLR": (lambda o: lr_scheduler.StepLR(o, 2), f"{COMMON} step_size gamma"),
    "MultiStepLR": (lambda o: lr_scheduler.MultiStepLR(o, [1, 3]), f"{COMMON} milestones gamma"),
    "ConstantLR": (lambda o: lr_scheduler.ConstantLR(o), f"{COMMON} factor total_iters"),
    "LinearLR": (
        lambda o: lr_scheduler.LinearLR(o),
        f"{COMMON} start_factor end_factor total_iters",
    ),
    "ExponentialLR": (lambda o: lr_scheduler.ExponentialLR(o, 0.9), f"{COMMON} gamma"),
    "PolynomialLR": (lambda o: lr_scheduler.PolynomialLR(o), f"{COMMON} total_iters power"),
    "CosineAnnealingLR": (
        lambda o: lr_scheduler.CosineAnnealingLR(o, 5),
        f"{COMMON} T_max eta_min",
    ),
    "CosineAnnealingWarmRestarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
        f"{COMMON} T_0 T_i T_mult eta_min T_cur",
    ),
    "CyclicLR": (
        lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3),
        f"{COMMON} {CYCLIC} _scale_fn_custom",
    ),
    "OneCycleLR": (
        lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=10),
        f"{COMMON} {CYCLE} total_steps _schedule_phases _anneal_func_type",
    ),
    "ReduceLROnPlateau": (
        lambda o: lr_scheduler.ReduceLROnPlateau(o),
        f"mode factor patience threshold threshold_mode cooldown min_lrs eps last_epoch _last_lr "
        f"{WORSE}",
    ),
    "SequentialLR": (
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.ConstantLR(o), lr_scheduler.ExponentialLR(o, 0.9)], [2]
        ),
        "_milestones last_epoch _last_lr _schedulers",
    ),
    "ChainedScheduler": (
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.ConstantLR(o), lr_scheduler.ExponentialLR(o, 0.9)], o
        ),
        "_last_lr _schedulers",
    ),
    "SWALR": (lambda o: SWALR(o, swa_lr=0.05), f"{COMMON} _anneal_strategy anneal_epochs"),
}


def _optimizer() -> Optimizer:
    return flambeau.optim.SGD([flambeau.nn.Parameter(flambeau.ones(3))], lr=0.1, momentum=0.9)


def _steps(optimizer: Optimizer, schedule: Any, count: int) -> list[float]:
    rates = []
    for i in range(count):
        optimizer.step()
        schedule.step(*[1.0 + i] * isinstance(schedule, lr_scheduler.ReduceLROnPlateau))
        rates += schedule.get_last_lr()
    return rates


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_save_the_keys_that_others_load(name: str) -> None:
    make, keys = SCHEDULES[name]
    optimizer = _optimizer()
    schedule = make(optimizer)
    _steps(optimizer, schedule, 3)
    assert schedule.state_dict().keys() == set(keys.split())


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_loaded_schedule_goes_on_where_the_other_stopped(name: str) -> None:
    make, _ = SCHEDULES[name]
    optimizer = _optimizer()
    schedule = make(optimizer)
    _steps(optimizer, schedule, 3)
    other = _optimizer()
    copy = make(other)
    other.load_state_dict(optimizer.state_dict())
    copy.load_state_dict(schedule.state_dict())
    assert _steps(optimizer, schedule, 4) == _steps(other, copy, 4)


def test_phases_of_one_cycle_are_those_of_files() -> None:
    schedule = lr_scheduler.OneCycleLR(_optimizer(), 0.1, total_steps=10, three_phase=True)
    state = schedule.state_dict()
    assert state["_anneal_func_type"] == "cos"
    first, second, third = state["_schedule_phases"]
    assert first == {
        "end_step": 2.0,
        "start_lr": "initial_lr",
        "end_lr": "max_lr",
        "start_momentum": "max_momentum",
        "end_momentum": "base_momentum",
    }
    assert (second["end_step"], second["end_lr"], second["end_momentum"]) == (
        4.0,
        "initial_lr",
        "max_momentum",
    )
    assert (third["end_step"], third["end_lr"], third["start_momentum"], third["end_momentum"]) == (
        9,
        "min_lr",
        "max_momentum",
        "max_momentum",
    )


def test_schedules_of_users_know_whether_step_asks() -> None:
    asked: list[tuple[bool, bool]] = []

    class Noting(LRScheduler):
        def get_lr(self) -> list[float]:
            asked.append((self._get_lr_called_within_step, self._is_initial))
            return [1.0]

    optimizer = _optimizer()
    schedule = Noting(optimizer)
    optimizer.step()
    schedule.step()
    schedule.get_lr()
    assert asked == [(True, True), (True, False), (False, False)]


def test_warm_restarts_go_to_moments_within_an_epoch() -> None:
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(_optimizer(), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule.step(5)
        schedule.step(6)
    assert schedule.get_last_lr() == [pytest.approx(0.05)]
    schedule.step(7.5)
    assert schedule.last_epoch == 7
    assert schedule.T_cur == 3.5
    schedule.step()
    assert schedule.get_last_lr() == [pytest.approx(0.1)]
