"""utils.checkpoint: the same gradients as without it, less memory, the same random numbers."""

from __future__ import annotations

import copy
import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.utils import checkpoint as checkpoints
from flambeau.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def block() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Dropout(0.5), nn.Linear(7, 5), nn.ReLU())


def gradients(run: Callable[[Any, Any], Any], layers: Any) -> list[Any]:
    torch.manual_seed(1)
    x = torch.randn(4, 5, requires_grad=True)
    loss = run(layers, x).square().sum() + torch.rand(())
    loss.backward()
    return [loss.detach(), x.grad, *(p.grad for p in layers.parameters())]


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("stops", [False, True])
def test_gradients_and_random_numbers(reentrant: bool, stops: bool) -> None:
    layers = block()
    expected = gradients(lambda f, x: f(x), copy.deepcopy(layers))
    with checkpoints.set_checkpoint_early_stop(stops):
        found = gradients(lambda f, x: checkpoint(f, x, use_reentrant=reentrant), layers)
    for a, b in zip(expected, found, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("segments", [1, 2, 5])
def test_sequential(reentrant: bool, segments: int) -> None:
    layers = block()
    expected = gradients(lambda f, x: f(x), copy.deepcopy(layers))
    found = gradients(
        lambda f, x: checkpoint_sequential(f, segments, x, use_reentrant=reentrant), layers
    )
    for a, b in zip(expected, found, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    with pytest.raises(ValueError, match="segments must be from 1 to 5"):
        checkpoint_sequential(layers, 6, torch.ones(1, 5), use_reentrant=reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_nested(reentrant: bool) -> None:
    def inner(x: Any) -> Any:
        return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=reentrant).cos()

    x = torch.linspace(0, 1, 5, dtype=torch.float64, requires_grad=True)
    checkpoint(inner, x, use_reentrant=reentrant).sum().backward()
    expected = torch.autograd.grad(x.sin().exp().cos().sum(), x)[0]
    torch.testing.assert_close(x.grad, expected)


def test_how_often_the_function_runs() -> None:
    calls = []

    def function(x: Any, scale: float) -> Any:
        calls.append(x.requires_grad)
        y = (x * scale).exp()
        calls.append("end")
        return y.sin()

    x = torch.ones(3, requires_grad=True)
    y = checkpoint(function, x, scale=2.0, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert calls.count(True) == 3  # forward, and once for each backward
    with torch.no_grad():
        checkpoint(function, x, 2.0, use_reentrant=False)
    assert calls.count(True) == 4


def test_what_is_kept() -> None:
    """Tensors inside are freed after the call, and not without a checkpoint."""

    def alive() -> int:
        gc.collect()
        return torch.cpu.memory_allocated()

    def chain(x: Any) -> Any:
        for _ in range(10):
            x = x.sin()
        return x

    x = torch.ones(100_000, requires_grad=True)
    before = alive()
    plain = chain(x)
    kept = alive() - before
    del plain
    checkpointed = checkpoint(chain, x, use_reentrant=False)
    assert alive() - before < 0.3 * kept
    checkpointed.sum().backward()


def test_second_derivatives() -> None:
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)

    def function(x: Any) -> Any:
        return checkpoint(lambda y: (y * y).sin(), x, use_reentrant=False)

    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))


def test_functions_that_change_are_refused() -> None:
    sizes = iter([2, 3])
    x = torch.ones(6, requires_grad=True)
    y = checkpoint(lambda t: t[: next(sizes)].exp(), x, use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match=r"was .*\(2,\).*is .*\(3,\)"):
        y.sum().backward()
    counts = iter([1, 2])
    y = checkpoint(
        lambda t: sum(t.exp() for _ in range(next(counts))),
        x,
        use_reentrant=False,
        early_stop=False,
    )
    with pytest.raises(CheckpointError, match="saved 1 tensors for backward, and 2 when"):
        y.sum().backward()


def test_contexts() -> None:
    seen = []

    class Note:
        def __init__(self, word: str) -> None:
            self.word = word

        def __enter__(self) -> None:
            seen.append(self.word)

        def __exit__(self, *exception: Any) -> None:
            pass

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(
        lambda t: t.exp(),
        x,
        use_reentrant=False,
        context_fn=lambda: (Note("first"), Note("second")),
    )
    y.sum().backward()
    assert seen == ["first", "second"]


def test_messages() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="pass use_reentrant"):
        checkpoint(torch.exp, x)
    with pytest.raises(ValueError, match="use_reentrant=True does not take key"):
        checkpoint(torch.exp, x, use_reentrant=True, key=1)
    with pytest.raises(ValueError, match="determinism_check must be"):
        checkpoint(torch.exp, x, use_reentrant=False, determinism_check="all")
    with pytest.warns(UserWarning, match="no argument requires grad"):
        checkpoint(torch.exp, x.detach(), use_reentrant=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint(torch.exp, x.detach(), use_reentrant=False)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_autocast_is_as_it_was(reentrant: bool, inside: bool) -> None:
    """The second run is under the autocast of the first, whatever is around backward."""
    torch.manual_seed(0)
    layer = nn.Linear(4, 4)
    x = torch.randn(2, 4, requires_grad=True)
    seen = []

    def run(value: torch.Tensor) -> torch.Tensor:
        seen.append(torch.is_autocast_enabled("cpu"))
        return layer(value)

    with torch.autocast("cpu", enabled=inside):
        result = checkpoint(run, x, use_reentrant=reentrant)
    with torch.autocast("cpu", enabled=not inside):
        result.float().sum().backward()
    assert seen == [inside, inside]
    wanted = layer.weight.sum(0).expand(2, 4)
    assert x.grad is not None
    assert torch.allclose(x.grad, wanted, atol=0.02)


def test_parts_for_other_implementations() -> None:
    x = torch.ones(2, requires_grad=True)
    assert checkpoints.get_device_states({"x": [x]}) == ([], [])
    checkpoints.set_device_states([], [])
    with pytest.raises(ValueError, match="device_type must be 'cuda'"):
        checkpoints.set_device_states([], [], device_type="tpu")
    found, other = checkpoints.detach_variable((2 * x, 3))
    assert found.is_leaf and found.requires_grad and other == 3
    with pytest.raises(RuntimeError, match="expected a tuple"):
        checkpoints.detach_variable([x])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="none of the inputs requires grad"):
        checkpoints.check_backward_validity([x.detach()])
