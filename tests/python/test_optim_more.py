"""LBFGS, Muon, steps that are recorded, hooks, averages of models, cyclic schedules."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.optim import lr_scheduler, swa_utils
from flambeau.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)


def minimizing(optimizer: optim.Optimizer, loss: Callable[[], Tensor]) -> Callable[[], Tensor]:
    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return closure


# --- LBFGS ---


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum_of_rosenbrock(search: str | None) -> None:
    x = nn.Parameter(flambeau.tensor([-1.2, 1.0], dtype=flambeau.float64))
    optimizer = optim.LBFGS([x], lr=0.1 if search is None else 1, line_search_fn=search)
    closure = minimizing(optimizer, lambda: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)
    for _ in range(40):
        optimizer.step(closure)
    found = scipy.optimize.minimize(scipy.optimize.rosen, [-1.2, 1.0], tol=1e-10).x
    np.testing.assert_allclose(x.detach(), found, atol=1e-4)


def test_lbfgs_solves_quadratics_of_several_parameters() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    b = rng.normal(size=6)
    parts = [nn.Parameter(flambeau.zeros(s, dtype=flambeau.float64)) for s in ((2, 2), (2,))]
    matrix, vector = flambeau.tensor(A), flambeau.tensor(b)

    def loss() -> Tensor:
        x = flambeau.cat([part.reshape(-1) for part in parts])
        return x @ (matrix @ x) / 2 - vector @ x

    optimizer = optim.LBFGS(
        parts, max_iter=40, tolerance_change=1e-18, line_search_fn="strong_wolfe"
    )
    first = optimizer.step(minimizing(optimizer, loss))
    assert first.item() == 0
    found = np.concatenate([part.detach().numpy().ravel() for part in parts])
    np.testing.assert_allclose(found, np.linalg.solve(A, b), atol=1e-5)
    state = optimizer.state[parts[0]]
    assert state["n_iter"] <= 40
    assert state["func_evals"] <= optimizer.param_groups[0]["max_eval"] + 25


def test_lbfgs_continues_from_its_state() -> None:
    def run(x: Any, optimizer: Any, steps: int) -> None:
        loss = lambda: ((x - 3) ** 2).sum() + (x**4).sum()  # noqa: E731
        for _ in range(steps):
            optimizer.step(minimizing(optimizer, loss))

    whole, half = (nn.Parameter(flambeau.tensor([1.0, -2.0])) for _ in range(2))
    run(whole, optim.LBFGS([whole], max_iter=2), 4)
    first = optim.LBFGS([half], max_iter=2)
    run(half, first, 2)
    second = optim.LBFGS([half])
    second.load_state_dict(first.state_dict())
    run(half, second, 2)
    np.testing.assert_array_equal(half.detach(), whole.detach().numpy())


def test_lbfgs_of_complex_numbers() -> None:
    z = nn.Parameter(flambeau.tensor([3 + 1j, -2j], dtype=flambeau.complex128))
    target = flambeau.tensor([1 - 1j, 2 + 2j], dtype=flambeau.complex128)
    optimizer = optim.LBFGS([z], line_search_fn="strong_wolfe")
    optimizer.step(minimizing(optimizer, lambda: (z - target).abs().square().sum()))
    np.testing.assert_allclose(z.detach(), target.numpy(), atol=1e-6)


def test_lbfgs_refuses() -> None:
    x = nn.Parameter(flambeau.ones(2))
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [x]}, {"params": [nn.Parameter(flambeau.ones(1))]}])
    with pytest.raises(ValueError, match="line_search_fn"):
        optim.LBFGS([x], line_search_fn="armijo")
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([x]).step()


# --- Muon ---


@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
@pytest.mark.parametrize("adjust", [None, "original", "match_rms_adamw"])
def test_muon_moves_along_orthogonal_matrices(shape: Any, adjust: str | None) -> None:
    flambeau.manual_seed(0)
    weight = nn.Parameter(flambeau.randn(shape))
    before, gradient = weight.detach().clone(), flambeau.randn(shape)
    optimizer = optim.Muon([weight], lr=0.1, weight_decay=0.5, adjust_lr_fn=adjust)
    weight.grad = gradient
    optimizer.step()
    rows, columns = shape
    scale = 0.2 * math.sqrt(6) if adjust == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
    moved = (before * (1 - 0.1 * 0.5) - weight.detach()).numpy() / (0.1 * scale)
    left, _, right = np.linalg.svd(gradient.numpy(), full_matrices=False)
    # Five iterations bring singular values near 1, and keep the vectors.
    found = left.T @ moved @ right.T
    assert np.all(np.abs(np.diag(found) - 0.9) < 0.35)
    assert np.abs(found - np.diag(np.diag(found))).max() < 0.1
    np.testing.assert_allclose(
        optimizer.state[weight]["momentum_buffer"], 0.05 * gradient.numpy(), rtol=1e-4
    )


def test_muon_refuses() -> None:
    with pytest.raises(ValueError, match="matrices"):
        optim.Muon([nn.Parameter(flambeau.ones(3))])
    with pytest.raises(ValueError, match="adjust_lr_fn"):
        optim.Muon([nn.Parameter(flambeau.ones(3, 3))], adjust_lr_fn="other")


# --- recorded steps ---

RECORDED = [
    (optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.SGD, {"maximize": True}),
    (optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    (optim.AdamW, {}),
    (optim.Adagrad, {"lr_decay": 0.1}),
    (optim.RMSprop, {"centered": True, "momentum": 0.5}),
    (optim.Adadelta, {}),
    (optim.Adamax, {}),
    (optim.NAdam, {}),
    (optim.RAdam, {}),
    (optim.ASGD, {}),
]


@pytest.mark.parametrize(("kind", "options"), RECORDED)
def test_recorded_steps_have_gradients(kind: Any, options: dict[str, Any]) -> None:
    start = np.array([0.5, -1.0, 2.0])
    gradient = np.array([0.3, 0.7, -0.4])

    def after(g: Tensor, recorded: bool) -> Tensor:
        start_tensor = flambeau.tensor(start, requires_grad=True)
        parameter = start_tensor.clone() if recorded else nn.Parameter(start_tensor)
        optimizer = kind([parameter], lr=0.1, differentiable=recorded, **options)
        for i in range(8):
            parameter.grad = g * (i + 1)
            optimizer.step()
        return parameter

    given = flambeau.tensor(gradient, requires_grad=True)
    result = after(given, recorded=True)
    plain = after(flambeau.tensor(gradient), recorded=False)
    np.testing.assert_allclose(result.detach(), plain.detach().numpy(), rtol=1e-9)
    result.sum().backward()
    assert given.grad is not None
    for i in range(3):
        step = 1e-6 * np.eye(3)[i]
        high, low = (after(flambeau.tensor(gradient + s), False) for s in (step, -step))
        slope = (high.sum() - low.sum()).item() / 2e-6
        assert given.grad[i].item() == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_all_take_options_of_implementations() -> None:
    for kind in (optim.Adam, optim.RMSprop, optim.Adamax, optim.NAdam):
        results = []
        for options in ({}, {"capturable": True}, {"foreach": True}):
            p = nn.Parameter(flambeau.ones(2))
            optimizer = kind([p], **options)  # type: ignore[arg-type]
            p.grad = flambeau.tensor([1.0, -2.0])
            optimizer.step()
            results.append(p.tolist())
        assert results[0] == results[1] == results[2]


# --- hooks ---


def test_hooks_of_all_optimizers_and_of_ones_own_steps() -> None:
    class Shrinking(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {})

        def step(self, closure: Any = None) -> str:
            seen.append("step")
            return "done"

    seen: list[Any] = []
    optimizer = Shrinking([nn.Parameter(flambeau.ones(1))])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(args == (o, None)))
    optimizer.register_step_post_hook(lambda *_: seen.append("own after"))
    with (
        register_optimizer_step_pre_hook(lambda *_: seen.append("before")),
        register_optimizer_step_post_hook(lambda *_: seen.append("after")),
    ):
        assert optimizer.step(None) == "done"
    assert seen == ["before", True, "step", "own after", "after"]
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="args, kwargs"):
        optimizer.step()


def test_a_step_pre_hook_replaces_the_closure() -> None:
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), kwargs))
    assert optimizer.step(lambda: 3) == 7


def test_hooks_are_kept_under_the_names_that_wrappers_read() -> None:
    inner = flambeau.optim.SGD([flambeau.ones(1, requires_grad=True)], lr=0.1)
    calls = []
    inner.register_step_pre_hook(lambda optimizer, args, kwargs: calls.append("before"))

    class Wrapper(flambeau.optim.Optimizer):
        def __init__(self) -> None:
            self.param_groups, self.state, self.defaults = inner.param_groups, inner.state, {}
            self._optimizer_step_pre_hooks = inner._optimizer_step_pre_hooks
            self._optimizer_step_post_hooks = {0: lambda *args: calls.append("after")}

        def step(self, closure: Any = None) -> None:
            calls.append("step")

    Wrapper().step()
    assert calls == ["before", "step", "after"]


def test_hooks_of_states() -> None:
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p], lr=0.5)
    seen: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    state = optimizer.state_dict()
    assert state["more"] == 1
    assert seen == ["first", "second"]

    def faster(optimizer: optim.Optimizer, state: dict[str, Any]) -> dict[str, Any]:
        groups = [{**group, "lr": 2.0} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 2.0
    assert seen[-1] == "loaded"
    assert state["param_groups"][0]["lr"] == 0.5


def test_copies_and_pickles_of_optimizers() -> None:
    p = nn.Parameter(flambeau.ones(2))
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = flambeau.ones(2)
    optimizer.step()
    for clone in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        own = clone.param_groups[0]["params"][0]
        own.grad = flambeau.ones(2)
        clone.step()
        assert clone.state[own]["step"].item() == 2


def test_swapped_parameters_come_back() -> None:
    p = nn.Parameter(flambeau.ones(2))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = flambeau.ones(2)
    optimizer.step()
    before, state = p.detach().clone(), copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 1.0
    other = flambeau.zeros(2)
    other.grad = flambeau.ones(2)
    with optim.swap_in_optimizer_params_and_state(optimizer, {"p": other}, state):
        optimizer.step()
    np.testing.assert_allclose(other, [-1.9, -1.9])
    np.testing.assert_allclose(state["state"][0]["momentum_buffer"], [1.9, 1.9])
    np.testing.assert_array_equal(p.detach(), before.numpy())
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert optimizer.param_groups[0]["params"] == [p]
    assert optimizer.state[p]["momentum_buffer"].tolist() == [1, 1]
    with (
        pytest.raises(ValueError, match="parameters"),
        optim.swap_in_optimizer_params_and_state(optimizer, {}, state),
    ):
        pass


# --- averages of models ---


def weights(model: nn.Module) -> np.ndarray[Any, Any]:
    return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])


@pytest.mark.parametrize(
    ("options", "formula"),
    [
        ({}, lambda values: np.mean(values, 0)),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, lambda values: np.mean(values, 0)),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.8)}, None),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.8)}, None),
    ],
)
def test_averaged_model(options: dict[str, Any], formula: Any) -> None:
    model = nn.Linear(3, 2)
    averaged = swa_utils.AveragedModel(model, **options)
    seen = []
    for _ in range(4):
        with flambeau.no_grad():
            for parameter in model.parameters():
                parameter.normal_()
        averaged.update_parameters(model)
        seen.append(weights(model))
    expected = formula(seen) if formula else seen[0]
    if formula is None:
        for value in seen[1:]:
            expected = 0.8 * expected + 0.2 * value
    np.testing.assert_allclose(weights(averaged), expected, rtol=1e-5, atol=1e-6)
    assert averaged.n_averaged.item() == 4
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight", "module.bias"]
    x = flambeau.ones(1, 3)
    np.testing.assert_array_equal(averaged(x).detach(), averaged.module(x).detach().numpy())


def test_buffers_of_averaged_models() -> None:
    model = nn.BatchNorm1d(1)
    copied, mean = (swa_utils.AveragedModel(model, use_buffers=use) for use in (False, True))
    for value in (2.0, 6.0):
        model.running_mean.fill_(value)
        for averaged in (copied, mean):
            averaged.update_parameters(model)
    assert copied.module.running_mean.item() == 6
    assert mean.module.running_mean.item() == 4
    fn = swa_utils.get_ema_avg_fn()
    with pytest.raises(ValueError, match="one of"):
        swa_utils.AveragedModel(model, avg_fn=fn, multi_avg_fn=swa_utils.get_ema_multi_avg_fn())
    with pytest.raises(ValueError, match="decay"):
        swa_utils.get_ema_avg_fn(1.5)


def test_statistics_of_batch_norms_anew() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2, momentum=0.3)).eval()
    batches = [flambeau.randn(5, 2) for _ in range(3)]
    swa_utils.update_bn([(batch, None) for batch in batches], model)
    norm = model[0]
    stacked = np.stack([batch.numpy() for batch in batches])
    np.testing.assert_allclose(norm.running_mean, stacked.mean(1).mean(0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(norm.running_var, stacked.var(1, ddof=1).mean(0), rtol=1e-4)
    assert norm.momentum == 0.3
    assert not norm.training


# --- schedules ---


def rates(make: Callable[[Any], Any], steps: int, adam: bool = False) -> list[tuple[float, float]]:
    p = nn.Parameter(flambeau.ones(1))
    optimizer: Any = optim.Adam([p], lr=0.4) if adam else optim.SGD([p], lr=0.4, momentum=0.9)
    schedule, seen = make(optimizer), []
    for _ in range(steps):
        group = optimizer.param_groups[0]
        seen.append((group["lr"], group["betas"][0] if adam else group["momentum"]))
        optimizer.step()
        schedule.step()
    return seen


@pytest.mark.parametrize("mode", ["triangular", "triangular2", "exp_range"])
@pytest.mark.parametrize("adam", [False, True])
def test_cyclic(mode: str, adam: bool) -> None:
    def make(o: Any) -> Any:
        return lr_scheduler.CyclicLR(o, 0.1, 0.5, 4, 6, mode=mode, gamma=0.9)

    for step, (rate, momentum) in enumerate(rates(make, 25, adam)):
        cycle, place = divmod(step, 10)
        level = place / 4 if place <= 4 else (10 - place) / 6
        level *= {"triangular": 1, "triangular2": 0.5**cycle, "exp_range": 0.9**step}[mode]
        assert rate == pytest.approx(0.1 + 0.4 * level)
        assert momentum == pytest.approx(0.9 - 0.1 * level)


def test_swa_rates() -> None:
    found = rates(lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=5), 8)
    for step, (rate, _) in enumerate(found):
        share = (1 - math.cos(math.pi * min(step, 5) / 5)) / 2
        assert rate == pytest.approx(0.4 + (0.1 - 0.4) * share)
    assert [r for r, _ in rates(lambda o: swa_utils.SWALR(o, 0.1, 0), 2)] == pytest.approx(
        [0.1] * 2
    )


def test_one_cycle_of_three_phases() -> None:
    found = rates(
        lambda o: lr_scheduler.OneCycleLR(
            o, 1.0, 20, pct_start=0.3, anneal_strategy="linear", three_phase=True
        ),
        20,
    )
    # Phases end at steps 5, 10 and 19, at 1, 1 / 25 and 1 / 25 / 10,000.
    knots = np.interp(range(20), [0, 5, 10, 19], [0.04, 1, 0.04, 4e-6])
    np.testing.assert_allclose([rate for rate, _ in found], knots)
    momenta = np.interp(range(20), [0, 5, 10, 19], [0.95, 0.85, 0.95, 0.95])
    np.testing.assert_allclose([momentum for _, momentum in found], momenta)


def test_cyclic_states_and_wrong_arguments() -> None:
    class Halving:
        def __init__(self, base: float) -> None:
            self.base = base

        def __call__(self, x: float) -> float:
            return self.base**x

    def make(base: float) -> Any:
        optimizer = optim.SGD([nn.Parameter(flambeau.ones(1))], lr=1.0, momentum=0.9)
        return lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, 3, scale_fn=Halving(base))

    first, second = make(0.5), make(0.9)
    second.load_state_dict(first.state_dict())
    assert second.scale_fn(2) == 0.25
    optimizer = optim.Adagrad([nn.Parameter(flambeau.ones(1))])
    with pytest.raises(ValueError, match="no momentum"):
        lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)
    for options in ({"mode": "square"}, {"scale_mode": "other"}, {"step_size_up": 0}):
        with pytest.raises(ValueError, match=f"CyclicLR: {next(iter(options))}"):
            lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, cycle_momentum=False, **options)
    with pytest.raises(ValueError, match="1 values of max_lr"):
        lr_scheduler.CyclicLR(optimizer, 0.1, [1.0, 2.0], cycle_momentum=False)
