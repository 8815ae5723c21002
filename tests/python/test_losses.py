"""Losses against NumPy, their reductions and their gradients."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import gradcheck
from flambeau.nn import functional as F

rng = np.random.default_rng(0)
A, B = rng.normal(size=(6, 5)), rng.normal(size=(6, 5))
P, Q = rng.uniform(0.05, 0.95, (6, 5)), rng.uniform(0.05, 0.95, (6, 5))
SIGN = rng.choice([-1.0, 1.0], (6, 5))
D = abs(A - B)


def tensor(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    return flambeau.tensor(array, requires_grad=requires_grad)


def cosine(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)


Case = tuple[Callable[..., Any], tuple[np.ndarray, ...], np.ndarray]
CASES: dict[str, Case] = {
    "l1": (nn.L1Loss, (A, B), D),
    "mse": (nn.MSELoss, (A, B), D**2),
    "smooth-l1": (
        lambda **k: nn.SmoothL1Loss(beta=0.7, **k),
        (A, B),
        np.where(D < 0.7, D**2 / 1.4, D - 0.35),
    ),
    "huber": (
        lambda **k: nn.HuberLoss(delta=0.7, **k),
        (A, B),
        np.where(D < 0.7, D**2 / 2, 0.7 * (D - 0.35)),
    ),
    "bce": (nn.BCELoss, (P, Q), -(Q * np.log(P) + (1 - Q) * np.log(1 - P))),
    "bce-logits": (
        nn.BCEWithLogitsLoss,
        (A, Q),
        -(Q * special.log_expit(A) + (1 - Q) * special.log_expit(-A)),
    ),
    "kl": (nn.KLDivLoss, (A, Q), Q * (np.log(Q) - A)),
    "kl-log": (lambda **k: nn.KLDivLoss(log_target=True, **k), (A, B), np.exp(B) * (B - A)),
    "soft-margin": (nn.SoftMarginLoss, (A, SIGN), np.log1p(np.exp(-SIGN * A))),
    "hinge": (nn.HingeEmbeddingLoss, (A, SIGN), np.where(SIGN == 1, A, np.maximum(0, 1 - A))),
    "ranking": (
        lambda **k: nn.MarginRankingLoss(0.3, **k),
        (A, B, SIGN),
        np.maximum(0, -SIGN * (A - B) + 0.3),
    ),
    "cosine": (
        lambda **k: nn.CosineEmbeddingLoss(0.1, **k),
        (A, B, SIGN[:, 0]),
        np.where(SIGN[:, 0] == 1, 1 - cosine(A, B), np.maximum(0, cosine(A, B) - 0.1)),
    ),
    "poisson": (nn.PoissonNLLLoss, (A, Q), np.exp(A) - Q * A),
    "gaussian": (nn.GaussianNLLLoss, (A, B, Q), (np.log(Q) + D**2 / Q) / 2),
    "triplet": (
        nn.TripletMarginLoss,
        (A, B, P),
        np.maximum(
            np.linalg.norm(A - B + 1e-6, axis=1) - np.linalg.norm(A - P + 1e-6, axis=1) + 1, 0
        ),
    ),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", CASES)
def test_loss(name: str, reduction: str) -> None:
    make, arrays, expected = CASES[name]
    result = make(reduction=reduction)(*map(tensor, arrays))
    reduced = {"none": expected, "mean": expected.mean(), "sum": expected.sum()}[reduction]
    np.testing.assert_allclose(result.numpy(), reduced, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_gradient(name: str) -> None:
    make, arrays, _ = CASES[name]
    first = tensor(arrays[0], requires_grad=True)
    rest = [tensor(a) for a in arrays[1:]]
    assert gradcheck(lambda x: make()(x, *rest), (first,))


CLASSES = np.array([0, 3, 1, 4, 2, 0])
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0, 1.5])


def nll(log_p: np.ndarray, target: np.ndarray, weight: Any = None, ignored: int = -100) -> Any:
    """(losses, their weights)."""
    w = np.ones(log_p.shape[1]) if weight is None else weight
    used = np.where(target == ignored, 0, w[np.where(target == ignored, 0, target)])
    picked = np.take_along_axis(log_p, np.where(target == ignored, 0, target)[:, None], 1)[:, 0]
    return -used * picked, used


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("ignored", [-100, 3])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_and_cross_entropy(weight: Any, ignored: int, reduction: str) -> None:
    log_p = special.log_softmax(A, 1)
    losses, used = nll(log_p, CLASSES, weight, ignored)
    expected = {"none": losses, "mean": losses.sum() / used.sum(), "sum": losses.sum()}[reduction]
    given = None if weight is None else tensor(weight)
    options = {"weight": given, "ignore_index": ignored, "reduction": reduction}
    target = tensor(CLASSES)
    first = nn.NLLLoss(**options)(tensor(log_p), target)
    second = nn.CrossEntropyLoss(**options)(tensor(A), target)
    np.testing.assert_allclose(first.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-6)
    assert gradcheck(
        lambda x: nn.CrossEntropyLoss(**options)(x, target), (tensor(A, requires_grad=True),)
    )


def test_cross_entropy_over_pixels_and_of_one_sample() -> None:
    scores = rng.normal(size=(2, 4, 3, 2))
    target = rng.integers(0, 4, (2, 3, 2))
    log_p = special.log_softmax(scores, 1)
    picked = np.take_along_axis(log_p, target[:, None], 1)
    result = F.cross_entropy(tensor(scores), tensor(target))
    np.testing.assert_allclose(result.item(), -picked.mean(), rtol=1e-6)
    single = F.cross_entropy(tensor(A[0]), tensor(np.array(2)))
    np.testing.assert_allclose(single.item(), -special.log_softmax(A[0])[2], rtol=1e-6)


def test_label_smoothing_is_a_mixture_of_targets() -> None:
    one_hot = np.eye(5)[CLASSES]
    smooth = 0.8 * one_hot + 0.2 / 5
    expected = -(smooth * special.log_softmax(A, 1)).sum(1).mean()
    by_class = nn.CrossEntropyLoss(label_smoothing=0.2)(tensor(A), tensor(CLASSES))
    by_share = nn.CrossEntropyLoss()(tensor(A), tensor(smooth))
    np.testing.assert_allclose(by_class.item(), expected, rtol=1e-6)
    np.testing.assert_allclose(by_share.item(), expected, rtol=1e-6)


def test_weights_of_binary_losses() -> None:
    weight = rng.uniform(0.5, 2, 5)
    plain = -(Q * np.log(P) + (1 - Q) * np.log(1 - P))
    result = nn.BCELoss(tensor(weight))(tensor(P), tensor(Q))
    np.testing.assert_allclose(result.item(), (weight * plain).mean(), rtol=1e-6)
    logits = -(weight * Q * special.log_expit(A) + (1 - Q) * special.log_expit(-A))
    result = nn.BCEWithLogitsLoss(pos_weight=tensor(weight))(tensor(A), tensor(Q))
    np.testing.assert_allclose(result.item(), logits.mean(), rtol=1e-6)


def test_extremes_stay_finite() -> None:
    far = tensor(np.array([-800.0, 800.0]))
    wrong = tensor(np.array([1.0, 0.0]))
    loss = nn.BCEWithLogitsLoss(reduction="none")(far, wrong)
    np.testing.assert_allclose(loss.numpy(), [800, 800])
    limited = nn.BCELoss(reduction="none")(tensor(np.array([0.0, 1.0])), wrong)
    np.testing.assert_allclose(limited.numpy(), [100, 100])


def test_batchmean_and_former_flags() -> None:
    expected = (Q * (np.log(Q) - A)).sum() / 6
    result = nn.KLDivLoss(reduction="batchmean")(tensor(A), tensor(Q))
    np.testing.assert_allclose(result.item(), expected, rtol=1e-6)
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.MSELoss(reduce=False).reduction == "none"


# What stands after the tensors in PyTorch's signatures, up to `reduce`.
FORMER: dict[str, tuple[Callable[..., Tensor], tuple[np.ndarray, ...], Callable[..., tuple]]] = {
    "mse": (F.mse_loss, (A, B), lambda a, r: (a, r)),
    "l1": (F.l1_loss, (A, B), lambda a, r: (a, r)),
    "smooth_l1": (F.smooth_l1_loss, (A, B), lambda a, r: (a, r)),
    "kl_div": (F.kl_div, (A, Q), lambda a, r: (a, r)),
    "soft_margin": (F.soft_margin_loss, (A, SIGN), lambda a, r: (a, r)),
    "bce": (F.binary_cross_entropy, (P, Q), lambda a, r: (None, a, r)),
    "logits": (F.binary_cross_entropy_with_logits, (A, Q), lambda a, r: (None, a, r)),
    "hinge": (F.hinge_embedding_loss, (A, SIGN), lambda a, r: (1.0, a, r)),
    "ranking": (F.margin_ranking_loss, (A, B, SIGN), lambda a, r: (0.0, a, r)),
    "poisson": (F.poisson_nll_loss, (A, P), lambda a, r: (True, False, a, 1e-8, r)),
    "cosine": (F.cosine_embedding_loss, (A, B, SIGN[:, 0]), lambda a, r: (0.0, a, r)),
    "triplet": (F.triplet_margin_loss, (A, B, P), lambda a, r: (1.0, 2.0, 1e-6, False, a, r)),
    "cross_entropy": (F.cross_entropy, (A, P), lambda a, r: (None, a, -100, r)),
}


@pytest.mark.parametrize("name", FORMER)
@pytest.mark.parametrize(
    ("size_average", "reduce", "reduction"),
    [(True, None, "mean"), (False, None, "sum"), (None, False, "none"), (False, True, "sum")],
)
def test_former_flags_by_position(
    name: str, size_average: bool | None, reduce: bool | None, reduction: str
) -> None:
    loss, arrays, flags = FORMER[name]
    tensors = [tensor(a) for a in arrays]
    found = loss(*tensors, *flags(size_average, reduce))
    np.testing.assert_array_equal(found.numpy(), loss(*tensors, reduction=reduction).numpy())


def test_former_flags_of_nll_loss() -> None:
    logs, classes = tensor(np.log(P)), flambeau.tensor([0, 4, 1, 1, 3, 2])
    each = -np.log(P)[np.arange(6), [0, 4, 1, 1, 3, 2]]
    np.testing.assert_allclose(F.nll_loss(logs, classes, None, False).item(), each.sum())
    np.testing.assert_allclose(
        F.nll_loss(logs, classes, None, None, 1, False).numpy(), each * [1, 1, 0, 0, 1, 1]
    )
    logs.requires_grad_()
    F.nll_loss(logs, classes, reduce=False).sum().backward()
    assert logs.grad is not None
    assert logs.grad.sum().item() == -6


@pytest.mark.parametrize(
    ("loss", "each", "divides_by_weights"),
    [
        (F.mse_loss, D**2, True),
        (F.l1_loss, D, True),
        (F.huber_loss, np.where(D < 1, D**2 / 2, D - 0.5), False),
    ],
)
def test_weights_of_elements(loss: Any, each: np.ndarray, divides_by_weights: bool) -> None:
    weighted = loss(tensor(A), tensor(B), weight=tensor(P), reduction="none")
    np.testing.assert_allclose(weighted.numpy(), each * P)
    total = loss(tensor(A), tensor(B), weight=tensor(P), reduction="sum")
    np.testing.assert_allclose(total.item(), (each * P).sum())
    mean = loss(tensor(A), tensor(B), weight=tensor(P))
    np.testing.assert_allclose(
        mean.item(), (each * P).sum() / (P.sum() if divides_by_weights else P.size)
    )
    with pytest.raises(ValueError, match="same shape"):
        loss(tensor(A), tensor(B), weight=tensor(P[:1]))


@pytest.mark.parametrize("argument", ["input", "target"])
@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_probabilities_lie_between_0_and_1(argument: str, value: float) -> None:
    given = {"input": flambeau.tensor([0.5, 0.5]), "target": flambeau.tensor([0.0, 1.0])}
    given[argument][1] = value
    with pytest.raises(RuntimeError, match=rf"argument {argument} must lie in \[0, 1\], got"):
        F.binary_cross_entropy(**given)
    whole = flambeau.tensor([0, 2])
    with pytest.raises(RuntimeError, match=r"argument target must lie in \[0, 1\], got 2"):
        F.binary_cross_entropy(flambeau.tensor([0.5, 0.5]), whole)


KEEPING: dict[str, tuple[Any, flambeau.dtype]] = {
    "binary_cross_entropy, weight": (
        lambda x: F.binary_cross_entropy(x, x.detach(), weight=x.detach().double()),
        flambeau.float32,
    ),
    "binary_cross_entropy_with_logits, weight": (
        lambda x: F.binary_cross_entropy_with_logits(x, x.detach(), weight=x.detach().double()),
        flambeau.float32,
    ),
    "binary_cross_entropy_with_logits, pos_weight": (
        lambda x: F.binary_cross_entropy_with_logits(
            x, x.detach(), pos_weight=flambeau.ones(4, dtype=flambeau.int64)
        ),
        flambeau.float32,
    ),
    "binary_cross_entropy_with_logits, target": (
        lambda x: F.binary_cross_entropy_with_logits(x, x.detach().double()),
        flambeau.float64,
    ),
    "huber_loss, target": (lambda x: F.huber_loss(x, x.detach().double() + 1), flambeau.float32),
    "huber_loss, weight": (
        lambda x: F.huber_loss(x, x.detach() + 1, weight=x.detach().double()),
        flambeau.float64,
    ),
    "soft_margin_loss, target": (
        lambda x: F.soft_margin_loss(x, x.detach().double()),
        flambeau.float32,
    ),
    "gaussian_nll_loss, target": (
        lambda x: F.gaussian_nll_loss(x, flambeau.ones(3, 4, dtype=flambeau.int64), x.detach() + 1),
        flambeau.float32,
    ),
}


@pytest.mark.parametrize("case", KEEPING)
def test_losses_of_several_dtypes_have_that_of_pytorch(case: str) -> None:
    """As PyTorch 2.13 gives: mostly that of the first argument; the gradient has the input's."""
    compute, expected = KEEPING[case]
    x = (flambeau.rand(3, 4) * 0.8 + 0.1).requires_grad_()
    loss = compute(x)
    assert loss.dtype is expected
    loss.backward()
    assert x.grad.dtype is flambeau.float32
    precise = x.detach().double().requires_grad_()
    np.testing.assert_allclose(loss.item(), compute(precise).item(), rtol=1e-5)


@pytest.mark.parametrize("loss", [F.l1_loss, F.mse_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_tensor_without_dims_counts_as_others_do(loss: Any, reduction: str) -> None:
    names = ["float16", "bfloat16", "float32", "float64", "int32"]
    for first, second in itertools.product(names, names[:4]):
        a = flambeau.full((), 3.0, dtype=getattr(flambeau, first))
        b = flambeau.full((2,), 1.0, dtype=getattr(flambeau, second))
        for pair in ((a, b), (b, a), (a, b[0])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # shapes differ
                found = loss(*pair, reduction=reduction)
            kept = loss is F.huber_loss and pair[0].is_floating_point()
            expected = pair[0].dtype if kept else flambeau.promote_types(a.dtype, b.dtype)
            assert found.dtype is expected
            assert found.max().item() == {F.mse_loss: 4, F.l1_loss: 2}.get(loss, 1.5)
    whole = flambeau.ones(2, dtype=flambeau.int32)
    with pytest.raises(RuntimeError, match=f"{loss.__name__}.*int32"):
        loss(whole, whole)


def test_variances_are_not_negative() -> None:
    x = flambeau.ones(2)
    with pytest.raises(ValueError, match=r"argument var must lie in \[0, inf\], got -1"):
        F.gaussian_nll_loss(x, x, flambeau.tensor([1.0, -1.0]))


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="nosuch"):
        nn.MSELoss(reduction="nosuch")
    with pytest.raises(IndexError, match="class"):
        F.cross_entropy(tensor(A), tensor(CLASSES + 1))
    assert "weight" in nn.CrossEntropyLoss(tensor(WEIGHT)).state_dict()
