"""The cross-entropy of projected features, whole and by chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

import flambeau
from flambeau import nn


def expected(layer: Any, x: Any, target: Any, smoothing: float) -> tuple[Any, Any]:
    """Losses of each row, and the weights that the mean divides by."""
    logits = x @ layer.linear.weight.detach().numpy().T
    if layer.linear.bias is not None:
        logits = logits + layer.linear.bias.detach().numpy()
    logs = log_softmax(logits, -1)
    classes = logs.shape[-1]
    weight = np.ones(classes) if layer.weight is None else layer.weight.numpy()
    if target.ndim == 2:
        shares = target * (1 - smoothing) + smoothing / classes
        return -(shares * logs * weight).sum(-1), np.ones(len(x))
    counts = target != (-100 if layer.ignore_index is None else layer.ignore_index)
    known = np.where(counts, target, 0)
    hard = -np.take_along_axis(logs, known[:, None], 1)[:, 0] * weight[known]
    soft = -(logs * weight).sum(-1) / classes
    return np.where(counts, (1 - smoothing) * hard + smoothing * soft, 0), counts * weight[known]


@pytest.mark.parametrize("rows", [None, 1, 2, 7])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("probabilities", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_values_and_gradients(
    rows: int | None, reduction: str, bias: bool, probabilities: bool, smoothing: float
) -> None:
    rng = np.random.default_rng(0)
    options = None if rows is None else nn.LinearCrossEntropyOptions(batch_chunk_size=rows)
    layer = nn.LinearCrossEntropyLoss(
        3,
        4,
        bias=bias,
        dtype=flambeau.float64,
        reduction=reduction,
        weight=flambeau.tensor([1.0, 0.5, 2.0, 1.5], dtype=flambeau.float64),
        ignore_index=None if probabilities else 1,
        label_smoothing=smoothing,
        options=options,
    )
    x = rng.normal(size=(5, 3))
    target = rng.dirichlet(np.ones(4), 5) if probabilities else np.array([0, 1, 3, 2, 0])
    losses, weights = expected(layer, x, target, smoothing)
    wanted = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / weights.sum()}[reduction]
    input = flambeau.tensor(x, requires_grad=True)
    found = layer(input, flambeau.tensor(target))
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-9)
    found.sum().backward()
    whole = nn.LinearCrossEntropyLoss(3, 4, bias=bias, dtype=flambeau.float64, reduction=reduction)
    whole.weight, whole.ignore_index = layer.weight, layer.ignore_index
    whole.label_smoothing = smoothing
    whole.linear.load_state_dict(layer.linear.state_dict())
    again = flambeau.tensor(x, requires_grad=True)
    whole(again, flambeau.tensor(target)).sum().backward()
    assert input.grad is not None
    assert again.grad is not None
    np.testing.assert_allclose(input.grad, again.grad.numpy(), rtol=1e-9, atol=1e-12)
    for own, other in zip(layer.parameters(), whole.parameters(), strict=True):
        np.testing.assert_allclose(own.grad, other.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_targets_of_more_dimensions() -> None:
    layer = nn.LinearCrossEntropyLoss(3, 4, out_features=(2,))
    assert layer.linear.weight.shape == (8, 3)
    x, target = flambeau.randn(5, 3), flambeau.randint(0, 4, (5, 2))
    logits = (x @ layer.linear.weight.mT).reshape(5, 4, 2)
    wanted = nn.functional.cross_entropy(logits, target)
    np.testing.assert_allclose(layer(x, target).item(), wanted.item(), rtol=1e-5)
    single = nn.LinearCrossEntropyLoss(3, 4, options=nn.LinearCrossEntropyOptions())
    assert single(x[0], target[0, 0]).shape == ()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("trained", ["input", "weight", "bias", "all", "none"])
@pytest.mark.parametrize("ignored", [None, 1])
def test_chunks_of_the_function(reduction: str, trained: str, ignored: int | None) -> None:
    """Like the whole batch at once, with targets of more dimensions, whatever needs gradients."""
    rng = np.random.default_rng(1)
    target = flambeau.tensor(rng.integers(0, 4, (5, 2)))
    arrays = {"input": (5, 3), "weight": (4, 2, 3), "bias": (4, 2)}
    values = {name: rng.normal(size=shape) for name, shape in arrays.items()}
    found = []
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=2)):
        given = {
            name: flambeau.tensor(value, requires_grad=trained in (name, "all"))
            for name, value in values.items()
        }
        loss = nn.functional.linear_cross_entropy(
            given["input"],
            given["weight"],
            target,
            linear_bias=given["bias"],
            weight=flambeau.tensor([1.0, 2.0, 0.5, 1.0], dtype=flambeau.float64),
            reduction=reduction,
            ignore_index=ignored,
            options=options,
        )
        assert loss.requires_grad is (trained != "none")
        if loss.requires_grad:
            (loss * loss).sum().backward()
        found.append([loss.detach(), *(one.grad for one in given.values())])
    for whole, part in zip(*found, strict=True):
        assert (whole is None) is (part is None)
        if whole is not None:
            np.testing.assert_allclose(part.numpy(), whole.numpy(), rtol=1e-10, atol=1e-12)


def test_probabilities_that_are_trained() -> None:
    x, weight = flambeau.randn(5, 3), flambeau.randn(4, 3)
    target = flambeau.rand(5, 4).requires_grad_()
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    nn.functional.linear_cross_entropy(x, weight, target, options=options).backward()
    assert target.grad is not None
    wanted = -(x @ weight.mT).log_softmax(1) / 5
    np.testing.assert_allclose(target.grad.numpy(), wanted.numpy(), rtol=1e-4)


@pytest.mark.parametrize(
    ("error", "words", "change"),
    [
        (TypeError, "argument 'options' must be", {"options": {}}),
        (ValueError, "a target for each row", {"target": flambeau.zeros(4, dtype=flambeau.int64)}),
        (ValueError, "reduction must be", {"reduction": "max"}),
        (RuntimeError, "expected features", {"input": flambeau.zeros(5, 2)}),
    ],
)
def test_refusals_of_the_function(error: Any, words: str, change: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "input": flambeau.zeros(5, 3),
        "linear_weight": flambeau.zeros(4, 3),
        "target": flambeau.zeros(5, dtype=flambeau.int64),
        "options": nn.LinearCrossEntropyOptions(),
    }
    with pytest.raises(error, match=words):
        nn.functional.linear_cross_entropy(**given | change)


def test_derivatives_of_chunked_gradients_are_an_error() -> None:
    layer = nn.LinearCrossEntropyLoss(3, 4, options=nn.LinearCrossEntropyOptions())
    x = flambeau.randn(5, 3, requires_grad=True)
    loss = layer(x, flambeau.zeros(5, dtype=flambeau.int64))
    (grad,) = flambeau.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated again"):
        grad.sum().backward()


def test_options() -> None:
    options = nn.LinearCrossEntropyOptions
    assert options(batch_chunk_size=3).rows(100, 8) == 3
    assert options(chunking_method="aspect_ratio:4").rows(100, 8) == 32
    assert options(chunking_method=None).rows(100, 8) == 100
    assert options().rows(5, 8) == 5
    half, single = flambeau.bfloat16, flambeau.float32
    assert options().sums_in(half) is single
    assert options(acc_policy="compact").sums_in(half) is half
    assert options(acc_dtype=flambeau.float64).sums_in(half) is flambeau.float64
    for wrong in ({"batch_chunk_size": 0}, {"chunking_method": "other"}, {"acc_policy": "other"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            options(**wrong)  # type: ignore[arg-type]


def test_printing_and_state() -> None:
    layer = nn.LinearCrossEntropyLoss(3, 4, weight=flambeau.ones(4), bias=True)
    assert list(layer.state_dict()) == ["weight", "linear.weight", "linear.bias"]
    assert repr(layer) == (
        "LinearCrossEntropyLoss(\n"
        "  in_features=3, num_classes=4, out_features=(), bias=True, reduction=mean, "
        "ignore_index=None, label_smoothing=0.0, options=None\n"
        "  (linear): Linear(in_features=3, out_features=4, bias=True)\n"
        ")"
    )
