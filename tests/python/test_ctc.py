"""ctc_loss against the sum over all alignments, gradients against finite differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn import functional as F


def collapsed(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    """The labels of an alignment: repetitions merged, then blanks dropped."""
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def by_alignments(probs: np.ndarray, labels: tuple[int, ...], blank: int) -> float:
    """Minus the logarithm of the summed probabilities of all alignments of one sample."""
    steps, classes = probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        if collapsed(path, blank) == labels:
            total += math.prod(probs[t, c] for t, c in enumerate(path))
    return -math.log(total) if total > 0 else math.inf


def probabilities(steps: int, samples: int, classes: int) -> Tensor:
    flambeau.manual_seed(3)
    return flambeau.randn(steps, samples, classes, dtype=flambeau.float64).log_softmax(2)


@pytest.mark.parametrize("blank", [0, 2])
def test_every_alignment_counts(blank: int) -> None:
    logs = probabilities(5, 4, 3)
    others = [c for c in range(3) if c != blank]
    labels = [(others[0], others[1]), (others[1], others[1]), (others[0],), ()]
    spans, sizes = [5, 4, 3, 2], [len(one) for one in labels]
    padded = [list(one) + [others[0]] * (2 - len(one)) for one in labels]
    expected = [
        by_alignments(logs[:n, i].exp().numpy(), one, blank)
        for i, (n, one) in enumerate(zip(spans, labels, strict=True))
    ]
    found = F.ctc_loss(logs, flambeau.tensor(padded), spans, sizes, blank, "none")
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    joined = flambeau.tensor([label for one in labels for label in one])
    lengths = (flambeau.tensor(spans), flambeau.tensor(sizes))
    again = F.ctc_loss(logs, joined, *lengths, blank, "none")
    np.testing.assert_allclose(again.numpy(), expected, rtol=1e-12)
    mean = F.ctc_loss(logs, joined, *lengths, blank)
    divided = [e / max(n, 1) for e, n in zip(expected, sizes, strict=True)]
    assert mean.item() == pytest.approx(np.mean(divided), rel=1e-12)
    single = F.ctc_loss(logs[:, 0], joined[:2], 5, 2, blank, "sum")  # type: ignore[arg-type]
    assert single.item() == pytest.approx(expected[0], rel=1e-12)


def test_labels_that_do_not_fit() -> None:
    logs = probabilities(3, 2, 3).requires_grad_()
    targets = flambeau.tensor([[1, 1, 2], [1, 2, 1]])
    losses = F.ctc_loss(logs, targets, [3, 3], [3, 3], reduction="none")
    assert losses[0].item() == math.inf and math.isfinite(losses[1].item())
    kept = F.ctc_loss(logs, targets, [3, 3], [3, 3], reduction="sum", zero_infinity=True)
    kept.backward()
    assert logs.grad is not None
    assert not logs.grad[:, 0].any() and bool(logs.grad[:, 1].any())
    empty = F.ctc_loss(logs, targets, [0, 0], [0, 2], reduction="none")
    assert empty.tolist() == [0, math.inf]


def test_gradients_of_logits() -> None:
    flambeau.manual_seed(1)
    logits = flambeau.randn(5, 2, 4, dtype=flambeau.float64, requires_grad=True)
    targets = flambeau.tensor([[1, 1, 3], [2, 3, 1]])

    def loss(x: Tensor) -> Tensor:
        return F.ctc_loss(x.log_softmax(2), targets, [5, 4], [2, 3])

    assert gradcheck(loss, (logits,))
    assert gradgradcheck(loss, (logits,))
    # Over the classes the gradient sums to 0 before the softmax already.
    logs = logits.detach().log_softmax(2).requires_grad_()
    F.ctc_loss(logs, targets, [5, 5], [2, 3]).backward()
    assert logs.grad is not None
    np.testing.assert_allclose(logs.grad.sum(2).numpy(), 0, atol=1e-12)


def test_module() -> None:
    logs = probabilities(4, 2, 3)
    targets = flambeau.tensor([[1], [2]])
    layer = nn.CTCLoss(reduction="sum")
    expected = F.ctc_loss(logs, targets, [4, 4], [1, 1], reduction="sum")
    assert layer(logs, targets, [4, 4], [1, 1]).item() == expected.item()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blank": 3}, "blank must be from 0 to below 3, got 3"),
        (
            {"input_lengths": [4]},
            "input_lengths and target_lengths as there are samples, 2, got 1 and",
        ),
        ({"input_lengths": [4, 5]}, "input_lengths must be from 0 to 4"),
        ({"target_lengths": [1, -1]}, "target_lengths must not be negative"),
        ({"target_lengths": [1, 2]}, "do not hold 2 labels"),
        (
            {"targets": flambeau.tensor([1, 2, 1])},
            "do not fit 2 samples, whose target_lengths add up to 2",
        ),
        ({"targets": flambeau.tensor([[1], [3]])}, "targets must be from 0 to below 3"),
        ({"targets": flambeau.ones(2, 1)}, "argument 'targets' has dtype float32"),
        ({"log_probs": flambeau.ones(3)}, "two or three dims"),
    ],
)
def test_mistakes(change: dict[str, object], message: str) -> None:
    arguments = {
        "log_probs": probabilities(4, 2, 3),
        "targets": flambeau.tensor([[1], [2]]),
        "input_lengths": [4, 4],
        "target_lengths": [1, 1],
    }
    with pytest.raises(RuntimeError, match=message):
        F.ctc_loss(**(arguments | change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reduction must be"):
        F.ctc_loss(**arguments, reduction="max")  # type: ignore[arg-type]
