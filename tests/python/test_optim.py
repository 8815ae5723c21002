"""Update rules against those of the papers, groups, state and schedules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optimizer_rules import RULES, Array, adam

import flambeau
from flambeau import nn, optim
from flambeau.optim import lr_scheduler

KINDS = sorted({rule[0] for rule in RULES}, key=lambda kind: kind.__name__)
STEPS = 8  # RAdam adapts from the sixth on


def _name(case: Any) -> str:
    return f"{case[0].__name__}-{'-'.join(case[2])}" if isinstance(case, tuple) else str(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_rule(rule: tuple[Any, Callable[..., Array], dict[str, Any]], dtype: str) -> None:
    kind, reference, options = rule
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (5,), (), (2, 3, 2)]
    starts = [rng.normal(size=s) for s in shapes]
    grads = [[rng.normal(size=s) for _ in range(STEPS)] for s in shapes]
    kept = getattr(flambeau, dtype)
    params = [nn.Parameter(flambeau.tensor(s, dtype=kept)) for s in starts]
    optimizer = kind(params, lr=0.05, **options)
    for t in range(STEPS):
        for p, g in zip(params, grads, strict=True):
            p.grad = flambeau.tensor(g[t], dtype=kept)
        optimizer.step()
    # These keep a rate or a product of decays in single precision, as PyTorch does.
    single = dtype == "float32" or kind in (optim.ASGD, optim.NAdam)
    tolerance = 1e-5 if single else 1e-12
    for p, start, g in zip(params, starts, grads, strict=True):
        expected = reference(start, g, 0.05, **options)
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_continues_from_a_saved_state(rule: Any) -> None:
    kind, _, options = rule
    rng = np.random.default_rng(1)
    start = rng.normal(size=(4, 3)).astype(np.float32)
    grads = rng.normal(size=(6, 4, 3)).astype(np.float32)

    def run(p: Any, optimizer: Any, which: range) -> None:
        for t in which:
            p.grad = flambeau.tensor(grads[t])
            optimizer.step()

    whole = nn.Parameter(flambeau.tensor(start))
    run(whole, kind([whole], lr=0.1, **options), range(6))
    half = nn.Parameter(flambeau.tensor(start))
    first = kind([half], lr=0.1, **options)
    run(half, first, range(3))
    second = kind([half], lr=0.7, **options)
    second.load_state_dict(first.state_dict())
    assert second.param_groups[0]["lr"] == 0.1
    run(half, second, range(3, 6))
    np.testing.assert_array_equal(half.detach().numpy(), whole.detach().numpy())


def test_state_has_the_usual_structure() -> None:
    p = nn.Parameter(flambeau.ones(2))
    optimizer = optim.Adam([p])
    p.grad = flambeau.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [0]
    assert set(state["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}
    assert state["state"][0]["step"].item() == 1
    assert set(optim.RMSprop([p]).param_groups[0]) >= {"lr", "alpha", "eps", "centered", "momentum"}


def test_parameters_without_gradient_stay() -> None:
    a, b = nn.Parameter(flambeau.ones(2)), nn.Parameter(flambeau.ones(2))
    optimizer = optim.Adam([a, b], lr=0.1)
    for late in (False, True):
        a.grad = flambeau.ones(2)
        b.grad = flambeau.ones(2) if late else None
        optimizer.step()
    # The second parameter's first step has a bias correction of its own.
    np.testing.assert_allclose(b.detach().numpy(), adam(np.ones(2), [np.ones(2)], 0.1), rtol=1e-6)
    np.testing.assert_allclose(
        a.detach().numpy(), adam(np.ones(2), [np.ones(2)] * 2, 0.1), rtol=1e-6
    )


def test_groups_have_options_of_their_own() -> None:
    a, b = nn.Parameter(flambeau.ones(2)), nn.Parameter(flambeau.ones(2))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.5)
    a.grad, b.grad = flambeau.ones(2), flambeau.ones(2)
    optimizer.step()
    assert a.tolist() == [0.5, 0.5]
    assert b.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="another group"):
        optimizer.add_param_group({"params": [a]})


def test_bad_arguments() -> None:
    p = nn.Parameter(flambeau.ones(2))
    with pytest.raises(ValueError, match="no parameters"):
        optim.SGD([])
    with pytest.raises(TypeError, match="iterable"):
        optim.SGD(p)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lr"):
        optim.SGD([p], lr=-1)
    with pytest.raises(ValueError, match="nesterov"):
        optim.SGD([p], nesterov=True)
    with pytest.raises(ValueError, match="betas"):
        optim.Adam([p], betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="computation"):
        optim.SGD([p * 2])
    with pytest.warns(UserWarning, match="twice"):
        optim.SGD([p, p])


def test_average_of_late_parameters() -> None:
    p = nn.Parameter(flambeau.tensor([1.0, -2.0]))
    optimizer = optim.ASGD([p], lr=0.1, t0=2)
    seen = []
    for _ in range(6):
        p.grad = flambeau.tensor([0.5, 1.0])
        optimizer.step()
        seen.append(p.detach().numpy().copy())
    # The average starts at the parameters of step 4.
    np.testing.assert_allclose(optimizer.state[p]["ax"].numpy(), np.mean(seen[3:], 0), rtol=1e-5)


def test_bad_options() -> None:
    p = nn.Parameter(flambeau.ones(2))
    for make, words in (
        (lambda: optim.NAdam([p], momentum_decay=-0.1), "NAdam: momentum_decay"),
        (lambda: optim.NAdam([p], betas=(1.0, 0.5)), "NAdam: betas"),
        (lambda: optim.RAdam([p], betas=(0.5, -0.1)), "RAdam: betas"),
        (lambda: optim.RAdam([p], weight_decay=-1), "RAdam: weight_decay"),
        (lambda: optim.Rprop([p], etas=(0.5, 1.0)), "Rprop: etas"),
        (lambda: optim.Rprop([p], etas=(0.0, 1.2)), "Rprop: etas"),
        (lambda: optim.ASGD([p], weight_decay=-1), "ASGD: weight_decay"),
        (lambda: optim.Adafactor([p], eps=(-1.0, 1e-3)), r"Adafactor: eps\[0\]"),
        (lambda: optim.Adafactor([p], eps=(None, -1.0)), r"Adafactor: eps\[1\]"),
        (lambda: optim.Adafactor([p], d=0.5), "Adafactor: d must"),
        (lambda: optim.Adafactor([p], beta2_decay=0.8), "Adafactor: beta2_decay"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


@pytest.mark.parametrize("kind", KINDS)
def test_complex_parameters(kind: Any) -> None:
    p = nn.Parameter(flambeau.ones(2, dtype=flambeau.complex64))
    p.grad = flambeau.ones(2, dtype=flambeau.complex64)
    with pytest.raises(RuntimeError, match="real numbers|has dtype complex64"):
        kind([p]).step()


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_all_parameters_or_of_none(kind: Any) -> None:
    a, b, c = (nn.Parameter(flambeau.ones(2)) for _ in range(3))
    for mixed in ([("a", a), b], [a, ("b", b)], [("a", a), ("b", b, c)]):
        with pytest.raises(ValueError, match="names of all parameters or of none"):
            kind(mixed)
    named, bare = {"params": [("a", a), ("b", b)]}, {"params": [c]}
    for groups in ([named, bare], [bare, named]):
        with pytest.raises(ValueError, match="names in all groups or in none"):
            kind(groups)
    optimizer = kind([named, {"params": [("c", c)]}])
    assert [g["param_names"] for g in optimizer.param_groups] == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="without names beside groups with names"):
        optimizer.add_param_group({"params": [nn.Parameter(flambeau.ones(2))]})
    assert len(optimizer.param_groups) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_rate_of_several_elements(kind: Any) -> None:
    p = nn.Parameter(flambeau.ones(2))
    for shape in ((2,), (0,)):
        with pytest.raises(ValueError, match="lr must be a number or a tensor of one element"):
            kind([p], lr=flambeau.ones(shape))


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_betas_are_two_numbers_or_two_tensors(kind: Any) -> None:
    numbers = (0.5, 0.75)
    tensors = tuple(map(flambeau.tensor, numbers))
    for mixed in ((numbers[0], tensors[1]), (tensors[0], numbers[1])):
        with pytest.raises(ValueError, match="two numbers or two tensors"):
            kind([nn.Parameter(flambeau.ones(2))], betas=mixed)
    with pytest.raises(ValueError, match="one element"):
        kind([nn.Parameter(flambeau.ones(2))], betas=(flambeau.ones(2) / 2, tensors[1]))
    results = []
    for betas in (numbers, tensors):
        p = nn.Parameter(flambeau.ones(2))
        optimizer = kind([p], betas=betas)
        for scale in (1.0, 3.0):
            p.grad = flambeau.tensor([0.5, -2.0]) * scale
            optimizer.step()
        results.append(p.tolist())
    assert results[0] == results[1]


def test_closure_and_zero_grad() -> None:
    p = nn.Parameter(flambeau.tensor([3.0]))
    optimizer = optim.SGD([p], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 9.0
    assert p.item() == pytest.approx(3 - 0.1 * 6)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is not None
    assert p.grad.item() == 0
    optimizer.zero_grad()
    assert p.grad is None


def test_hooks() -> None:
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p])
    seen: list[str] = []
    first = optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.step()
    first.remove()
    optimizer.step()
    assert seen == ["before", "after", "after"]


def test_clipping() -> None:
    a, b = nn.Parameter(flambeau.zeros(2)), nn.Parameter(flambeau.zeros(1))
    a.grad, b.grad = flambeau.tensor([3.0, 0.0]), flambeau.tensor([4.0])
    assert nn.utils.clip_grad_norm_([a, b], 1.0).item() == pytest.approx(5)
    np.testing.assert_allclose(a.grad.numpy(), [0.6, 0], rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), [0.8], rtol=1e-5)
    nn.utils.clip_grad_value_([a, b], 0.7)
    np.testing.assert_allclose(b.grad.numpy(), [0.7], rtol=1e-6)
    a.grad = flambeau.tensor([1.0, math.inf])
    with pytest.raises(RuntimeError, match="norm"):
        nn.utils.clip_grad_norm_([a], 1.0, error_if_nonfinite=True)


def test_vector_of_parameters() -> None:
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(flambeau.arange(9).float(), layer.parameters())
    assert layer.weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert layer.bias.tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match="9 elements"):
        nn.utils.vector_to_parameters(flambeau.zeros(8), layer.parameters())


# --- schedules ---

BASE = 0.4


def _cosine(t: int) -> float:
    return 0.1 + (BASE - 0.1) * (1 + math.cos(math.pi * t / 10)) / 2


SCHEDULES: list[tuple[str, Callable[[Any], Any], Callable[[int], float]]] = [
    (
        "lambda",
        lambda o: lr_scheduler.LambdaLR(o, lambda t: 0.9**t),
        lambda t: BASE * 0.9**t,
    ),
    ("step", lambda o: lr_scheduler.StepLR(o, 3, 0.5), lambda t: BASE * 0.5 ** (t // 3)),
    (
        "multi-step",
        lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5], 0.5),
        lambda t: BASE * 0.5 ** ((t >= 2) + 2 * (t >= 5)),
    ),
    ("exponential", lambda o: lr_scheduler.ExponentialLR(o, 0.8), lambda t: BASE * 0.8**t),
    ("cosine", lambda o: lr_scheduler.CosineAnnealingLR(o, 10, 0.1), _cosine),
    (
        "linear",
        lambda o: lr_scheduler.LinearLR(o, 0.2, 1.0, 4),
        lambda t: BASE * (0.2 + 0.8 * min(t, 4) / 4),
    ),
    (
        "constant",
        lambda o: lr_scheduler.ConstantLR(o, 0.5, 4),
        lambda t: BASE * (0.5 if t < 4 else 1),
    ),
    (
        "polynomial",
        lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0),
        lambda t: BASE * (1 - min(t, 6) / 6) ** 2,
    ),
    (
        "restarts",
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
        lambda t: BASE * (1 + math.cos(math.pi * (t % 4) / 4)) / 2,
    ),
    (
        "sequential",
        lambda o: lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.ConstantLR(o, 0.1, 20), lr_scheduler.ExponentialLR(o, 0.9)],
            [3],
        ),
        lambda t: BASE * 0.1 if t < 3 else BASE * 0.9 ** (t - 3),
    ),
    (
        "chained",
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.ExponentialLR(o, 0.9), lr_scheduler.StepLR(o, 4, 0.5)]
        ),
        lambda t: BASE * 0.9**t * 0.5 ** (t // 4),
    ),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s[0])
def test_schedule(schedule: Any) -> None:
    _, make, formula = schedule
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p], lr=BASE)
    scheduler = make(optimizer)
    for t in range(10):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(formula(t), rel=1e-9), t
        assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]
        optimizer.step()
        scheduler.step()


def test_one_cycle() -> None:
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p], lr=1.0, momentum=0.9)
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=11, pct_start=0.5)
    rates, momenta = [], []
    for _ in range(11):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if len(rates) < 11:
            scheduler.step()
    assert rates[0] == pytest.approx(1 / 25)
    assert max(rates) == pytest.approx(1, abs=0.05)
    assert rates[-1] == pytest.approx(1 / 25 / 1e4)
    assert rates[:5] == sorted(rates[:5])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert momenta[0] == pytest.approx(0.95)
    assert min(momenta) == pytest.approx(0.85, abs=0.01)


def test_plateau() -> None:
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p], lr=1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.1, patience=1, min_lr=0.05)
    rates = []
    for metric in [3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]:
        scheduler.step(metric)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([1, 1, 1, 0.1, 0.1, 0.1, 0.05, 0.05])


def test_schedule_continues_from_its_state() -> None:
    p = nn.Parameter(flambeau.ones(1))
    optimizer = optim.SGD([p], lr=BASE)
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    again = optim.SGD([p], lr=BASE)
    second = lr_scheduler.StepLR(again, 7, 0.1)
    again.load_state_dict(optimizer.state_dict())
    second.load_state_dict(scheduler.state_dict())
    again.step()
    second.step()
    assert again.param_groups[0]["lr"] == pytest.approx(BASE * 0.25)


def test_warns_when_the_schedule_steps_first() -> None:
    p = nn.Parameter(flambeau.ones(1))
    scheduler = lr_scheduler.StepLR(optim.SGD([p], lr=1.0), 2)
    with pytest.warns(UserWarning, match=r"before optimizer\.step"):
        scheduler.step()
