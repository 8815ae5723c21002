"""Steps of lists, `optim.adam.adam` and its like, against the rules of the papers in NumPy."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from optimizer_rules import RULES

import flambeau
from flambeau import nn, optim

KINDS = {"Adafactor", "Muon"}  # PyTorch has no functions of these under a public name
CASES = [rule for rule in RULES if rule[0].__name__ not in KINDS]
STEPS = 5
OTHERS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def name_of(case: Any) -> str:
    return f"{case[0].__name__}-{'-'.join(case[2])}"


def function_of(kind: type) -> Any:
    name = kind.__name__.lower()
    return getattr(import_module(f"flambeau.optim.{name}"), name)


def options_of(optimizer: Any, function: Any) -> dict[str, Any]:
    """Those of a group, as its function names them."""
    found: dict[str, Any] = {}
    for name, value in optimizer.param_groups[0].items():
        found |= dict(zip(OTHERS[name], value, strict=True)) if name in OTHERS else {name: value}
    return {n: found[n] for n in inspect.signature(function).parameters if n in found} | {
        n: v
        for n, v in found.items()
        if n in ("maximize", "decoupled_weight_decay")
        and n in inspect.signature(function).parameters
    }


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_rule(case: Any) -> None:
    kind, reference, options = case
    function = function_of(kind)
    rng = np.random.default_rng(3)
    shapes = [(3, 4), (5,), ()]
    starts = [rng.normal(size=s) for s in shapes]
    grads = [[rng.normal(size=s) for _ in range(STEPS)] for s in shapes]
    params = [nn.Parameter(flambeau.tensor(s, dtype=flambeau.float64)) for s in starts]
    given = options_of(kind(params, lr=0.05, **options), function)
    given.pop("params", None)
    lists = started(function, params, given, options)
    addresses = [p.data_ptr() for p in params]
    for t in range(STEPS):
        function(params, [flambeau.tensor(g[t]) for g in grads], *lists, **given)
    assert [p.data_ptr() for p in params] == addresses
    assert all(p.grad is None for p in params)
    tolerance = 1e-6 if kind in (optim.ASGD, optim.NAdam) else 1e-12  # single precision, there
    for p, start, g in zip(params, starts, grads, strict=True):
        expected = reference(start, g, 0.05, **options)
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def started(function: Any, params: Any, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """Lists as they are before the first step."""
    firsts = {
        "state_steps": lambda p: flambeau.tensor(0.0),
        "mu_products": lambda p: flambeau.tensor(1.0),
        "mus": lambda p: flambeau.tensor(1.0),
        "etas": lambda p: flambeau.tensor(given["lr"]),
        "step_sizes": lambda p: flambeau.full_like(p.detach(), 0.05),
        "momentum_buffer_list": lambda p: flambeau.zeros_like(p.detach()),
        "state_sums": lambda p: flambeau.full_like(
            p.detach(), options.get("initial_accumulator_value", 0.0)
        ),
    }
    wanted = {
        "max_exp_avg_sqs": given.get("amsgrad"),
        "grad_avgs": given.get("centered"),
        "momentum_buffer_list": given.get("momentum") or function.__name__ == "sgd",
    }
    lists = []
    names = [n for n, p in inspect.signature(function).parameters.items() if "list" in p.annotation]
    for name in names[2:]:
        first = firsts.get(name, lambda p: flambeau.zeros_like(p.detach()))
        if function.__name__ == "sgd":
            lists.append([None for _ in params])
        else:
            lists.append([first(p) for p in params] if wanted.get(name, True) else [])
    return lists


def test_momentum_fills_its_list() -> None:
    weight, buffers = flambeau.tensor([1.0]), [None]
    options = {"lr": 0.1, "weight_decay": 0.0, "dampening": 0.0, "nesterov": False}
    from flambeau.optim.sgd import sgd

    sgd([weight], [flambeau.tensor([3.0])], buffers, momentum=0.5, maximize=False, **options)
    assert buffers[0].tolist() == [3.0]  # type: ignore[union-attr]
    sgd([weight], [flambeau.tensor([1.0])], buffers, momentum=0.5, maximize=False, **options)
    assert buffers[0].tolist() == [2.5]  # type: ignore[union-attr]
    assert weight.tolist() == pytest.approx([1 - 0.3 - 0.25])


ADAM = {
    "amsgrad": False,
    "beta1": 0.9,
    "beta2": 0.99,
    "lr": 0.1,
    "weight_decay": 0.0,
    "eps": 0.5,
    "maximize": False,
}


def adam_lists() -> Any:
    return [flambeau.zeros(1)], [flambeau.zeros(1)], [], [flambeau.tensor(0.0)]


def test_a_step_that_is_recorded() -> None:
    """d/dg of w - lr * g / (|g| + eps), the first step, is -lr * eps / (|g| + eps) ** 2."""
    from flambeau.optim.adam import adam

    grad = flambeau.tensor([4.0], requires_grad=True)
    start = flambeau.tensor([2.0], requires_grad=True)
    weight = start.clone()
    adam([weight], [grad], *adam_lists(), differentiable=True, **ADAM)
    weight.backward()
    assert start.grad.item() == 1
    assert grad.grad.item() == pytest.approx(-0.1 * 0.5 / 4.5**2, rel=1e-5)


def test_scaled_gradients() -> None:
    from flambeau.optim.adam import adam

    plain, scaled = flambeau.tensor([2.0]), flambeau.tensor([2.0])
    adam([plain], [flambeau.tensor([4.0])], *adam_lists(), **ADAM)
    lists = adam_lists()
    grads = [flambeau.tensor([32.0])]
    scale = {"grad_scale": flambeau.tensor(8.0)}
    adam([scaled], grads, *lists, **scale, found_inf=flambeau.tensor(1.0), **ADAM)
    assert scaled.item() == 2 and lists[3][0].item() == 0
    adam([scaled], grads, *lists, **scale, found_inf=flambeau.tensor(0.0), **ADAM)
    assert scaled.item() == plain.item()


def test_lists_of_other_lengths_are_refused() -> None:
    from flambeau.optim.adam import adam

    with pytest.raises(ValueError, match=r"adam\(\): expected 1 tensors of exp_avg, one for each"):
        adam([flambeau.ones(1)], [flambeau.ones(1)], [flambeau.zeros(1)] * 2, [], [], [], **ADAM)
    with pytest.raises(ValueError, match="tensors of grads"):
        adam([flambeau.ones(1)], [], *adam_lists(), **ADAM)
