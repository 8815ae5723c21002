"""Optimizers as functions, and networks of the first releases' kind that they train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

import flambeau
from flambeau import Tensor
from flambeau.datasets.digits import load_digits
from flambeau.legacy import nn, optim

CONFIGS: dict[str, dict[str, Any]] = {
    "sgd": {"learningRate": 5e-4, "momentum": 0.9, "dampening": 0, "nesterov": True},
    "nag": {"learningRate": 5e-4, "momentum": 0.9},
    "asgd": {"eta0": 2e-3, "lambd": 1e-6},
    "adagrad": {"learningRate": 0.3},
    "adam": {"learningRate": 0.02},
    "adamax": {"learningRate": 0.05},
    "adadelta": {"rho": 0.95, "eps": 1e-6},
    "rmsprop": {"learningRate": 5e-3},
    "rprop": {"stepsize": 0.01},
    "lbfgs": {"lineSearch": "strong_wolfe"},
    "cg": {},
}


def rosenbrock(x: Tensor) -> tuple[float, Tensor]:
    return float(rosen(x.numpy())), flambeau.from_numpy(rosen_der(x.numpy()))


def test_every_function_is_tested() -> None:
    assert set(optim.__all__) == CONFIGS.keys()


@pytest.mark.parametrize("name", CONFIGS)
def test_descends_the_valley_of_rosenbrock(name: str) -> None:
    x = flambeau.tensor([-1.2, 1.0], dtype=flambeau.float64)
    place, config = x.data_ptr(), dict(CONFIGS[name])
    steps = 10 if name in ("lbfgs", "cg") else 2500
    for _ in range(steps):
        found, losses, *_ = getattr(optim, name)(rosenbrock, x, config)
    assert found is x and x.data_ptr() == place
    # At the start it is 24.2; Adadelta's steps, which never grow small, leave the floor again.
    goal = {"lbfgs": 1e-8, "cg": 1e-8, "adadelta": 0.5}.get(name, 0.05)
    assert min(losses[-1], rosen(x.numpy())) < goal


def quadratic(matrix: Tensor) -> Callable[[Tensor], tuple[float, Tensor]]:
    return lambda x: ((x @ matrix @ x).item() / 2, matrix @ x)


MATRIX = flambeau.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=flambeau.float64)
START = np.array([1.0, -2.0])


def steps_of(function: Any, config: dict[str, Any], count: int = 3) -> list[np.ndarray]:
    x, state, seen = flambeau.from_numpy(START.copy()), {}, []
    for _ in range(count):
        function(quadratic(MATRIX), x, config, state)
        seen.append(x.numpy().copy())
    return seen


def test_rules_of_steps() -> None:
    """Formulas of the papers, in NumPy."""
    a = MATRIX.numpy()
    x, velocity, expected = START.copy(), 0.0, []
    for step in range(3):
        gradient = a @ x + 0.1 * x
        velocity = gradient if step == 0 else 0.9 * velocity + 0.1 * gradient
        x = x - 0.05 / (1 + 0.5 * step) * velocity
        expected.append(x)
    options = {"learningRate": 0.05, "learningRateDecay": 0.5, "weightDecay": 0.1, "momentum": 0.9}
    np.testing.assert_allclose(steps_of(optim.sgd, options), expected)

    x, mean, square, expected = START.copy(), 0.0, 0.0, []
    for step in range(1, 4):
        gradient = a @ x
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        x = x - 0.1 * (mean / (1 - 0.9**step)) / np.sqrt(square / (1 - 0.999**step))
        expected.append(x)
    np.testing.assert_allclose(steps_of(optim.adam, {"learningRate": 0.1}), expected, rtol=1e-5)

    x, square, expected = START.copy(), 0.0, []
    for _ in range(3):
        square = square + (a @ x) ** 2
        x = x - 0.1 * (a @ x) / np.sqrt(square)
        expected.append(x)
    np.testing.assert_allclose(steps_of(optim.adagrad, {"learningRate": 0.1}), expected, rtol=1e-6)

    x, square, moved, expected = START.copy(), 0.0, 0.0, []
    for _ in range(3):
        square = 0.95 * square + 0.05 * (a @ x) ** 2
        step = np.sqrt(moved + 1e-6) / np.sqrt(square + 1e-6) * (a @ x)
        moved, x = 0.95 * moved + 0.05 * step**2, x - step
        expected.append(x)
    np.testing.assert_allclose(steps_of(optim.adadelta, {"rho": 0.95}), expected, rtol=1e-6)


def test_averages() -> None:
    x, config = flambeau.from_numpy(START.copy()), {"eta0": 0.05, "t0": 0}
    seen = []
    for _ in range(4):
        _, _, average = optim.asgd(quadratic(MATRIX), x, config)
        seen.append(x.numpy().copy())
    # The first average is replaced by the second: mu is 1 for both.
    np.testing.assert_allclose(average, np.mean(seen[1:], 0), rtol=1e-6)


def test_state_goes_on() -> None:
    """Several calls of L-BFGS see what one call of as many iterations sees."""
    once, parts = (flambeau.tensor([-1.2, 1.0], dtype=flambeau.float64) for _ in range(2))
    optim.lbfgs(rosenbrock, once, {"lineSearch": "strong_wolfe", "maxIter": 6, "maxEval": 30})
    state: dict[str, Any] = {}
    for _ in range(6):
        config = {"lineSearch": "strong_wolfe", "maxIter": 1, "maxEval": 30}
        optim.lbfgs(rosenbrock, parts, config, state)
    np.testing.assert_allclose(parts, once, rtol=1e-6)


def test_mistakes() -> None:
    x = flambeau.ones(2)
    with pytest.raises(TypeError, match=r"sgd\(\): unknown option 'lr'; there are dampening, "):
        optim.sgd(quadratic(MATRIX), x, {"lr": 0.1})
    with pytest.raises(ValueError, match=r"sgd\(\): nesterov needs a momentum"):
        optim.sgd(quadratic(MATRIX), x, {"nesterov": True})
    with pytest.raises(ValueError, match=r"nag\(\): expected momentum above 0, got 0"):
        optim.nag(quadratic(MATRIX), x, {"momentum": 0})


def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    loaded = load_digits()
    train, test = (
        [flambeau.stack(column) for column in zip(*part, strict=True)]
        for part in (loaded.train, loaded.test)
    )
    return train[0], train[1], test[0], test[1]


def lenet() -> nn.Sequential:
    model = nn.Sequential()
    model.add(nn.SpatialConvolution(1, 8, 3, 3, 1, 1, 1, 1)).add(nn.Tanh())
    model.add(nn.SpatialMaxPooling(2, 2)).add(nn.SpatialConvolution(8, 16, 3, 3)).add(nn.Tanh())
    model.add(nn.Reshape(16 * 2 * 2)).add(nn.Linear(64, 32)).add(nn.Tanh())
    return model.add(nn.Linear(32, 10)).add(nn.LogSoftMax())


def test_lenet_reads_digits() -> None:
    flambeau.manual_seed(0)
    images, labels, test_images, test_labels = digits()
    model, criterion = lenet(), nn.ClassNLLCriterion()
    x, gradient = model.getParameters()
    config = {"momentum": 0.9}
    for epoch in range(13):
        config["learningRate"] = 0.1 if epoch < 10 else 0.02
        for chosen in flambeau.randperm(len(images)).split(32):

            def evaluate(_: Tensor, chosen: Tensor = chosen) -> tuple[float, Tensor]:
                inputs, targets = images[chosen], labels[chosen]
                gradient.zero_()
                loss = criterion.forward(model.forward(inputs), targets)
                model.backward(inputs, criterion.backward(model.output, targets))
                return loss, gradient

            optim.sgd(evaluate, x, config)
    model.evaluate()
    right = model.forward(test_images).argmax(1) == test_labels
    assert right.float().mean().item() > 0.95


def test_branches_learn_without_an_optimizer() -> None:
    """Tables, shared inputs and `updateParameters`: products of two numbers."""
    flambeau.manual_seed(0)
    branch = nn.Sequential(nn.Linear(2, 16), nn.Tanh())
    other = nn.Sequential(nn.Linear(2, 16), nn.Tanh())
    model = nn.Sequential(nn.ConcatTable(branch, other), nn.CMulTable(), nn.Linear(16, 1))
    criterion = nn.MSECriterion()
    for _ in range(1500):
        x = flambeau.rand(32, 2) * 2 - 1
        wanted = x.prod(1, keepdim=True)
        model.zeroGradParameters()
        criterion.forward(model.forward(x), wanted)
        model.backward(x, criterion.backward(model.output, wanted))
        model.updateParameters(0.1)
    x = flambeau.rand(500, 2) * 2 - 1
    assert criterion.forward(model.forward(x), x.prod(1, keepdim=True)) < 0.005
