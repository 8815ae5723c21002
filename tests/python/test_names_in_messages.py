"""Operators call others; a message names the function that users called, and its arguments as they
are called there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

X = flambeau.ones(2, 3)
INTS = flambeau.ones(2, 3, dtype=flambeau.int64)
IMAGE = flambeau.ones(1, 1, 2)

# What is called, and what its message begins with.
MESSAGES: dict[str, tuple[Callable[[], Any], str]] = {
    "reshape": (lambda: flambeau.reshape(X, (4,)), "reshape: shape [4] has 4 elements"),
    "reshape of a tensor": (lambda: X.reshape(4), "reshape: shape [4] has 4 elements"),
    "view": (lambda: X.view(4), "view: shape [4] has 4 elements"),
    "cross_entropy": (
        lambda: F.cross_entropy(X, flambeau.tensor([0, 5])),
        "cross_entropy: argument target holds class 5",
    ),
    "a layer": (
        lambda: nn.CrossEntropyLoss()(X, flambeau.tensor([0, 5])),
        "cross_entropy: argument target holds class 5",
    ),
    "nll_loss": (
        lambda: F.nll_loss(X, flambeau.tensor([0, 5])),
        "nll_loss: argument target holds class 5",
    ),
    "conv1d": (lambda: F.conv1d(IMAGE, flambeau.ones(1, 1, 3)), "conv1d(): the kernel, 3 long"),
    "vstack": (lambda: flambeau.vstack([X, flambeau.ones(2, 4)]), "vstack(): sizes must agree"),
    "hstack": (lambda: flambeau.hstack([X, flambeau.ones(3, 3)]), "hstack(): sizes must agree"),
    "scatter": (
        lambda: X.scatter(0, flambeau.tensor([[9]]), 1.0),
        "scatter(): index 9 is out of bounds",
    ),
    "index_add": (
        lambda: X.index_add(0, flambeau.tensor([0, 1, 2]), X),
        "index_add(): expected a source",
    ),
    "tile": (lambda: X.tile(-1), "tile(): repeats must not be negative"),
    "bilinear": (lambda: F.bilinear(X, X, flambeau.ones(1, 2, 3)), "bilinear(): shapes"),
    "msort": (lambda: flambeau.msort(flambeau.tensor(1j)), "msort(): argument 'input' has dtype"),
    "a function": (lambda: flambeau.var(INTS), "var(): argument 'input' has dtype int64"),
    "a method": (lambda: INTS.var(), "var(): argument 'self' has dtype int64"),
    "of a layer": (lambda: F.relu(X > 0), "relu(): argument 'input' has dtype bool"),
    "of two": (
        lambda: flambeau.matmul(X, X.double()),
        "matmul(): argument 'other' has dtype float64 but 'input' has dtype float32",
    ),
    "det": (
        lambda: flambeau.det(X),
        "det(): expected square matrices, [*, n, n], got input of shape [2, 3]",
    ),
    "operators of Python": (lambda: X + flambeau.ones(4), "add: shapes [2, 3] and [4]"),
    "in place": (lambda: X.add_(flambeau.ones(4)), "add: shapes [2, 3] and [4]"),
    "histogram": (
        lambda: flambeau.histogram(X, bins=3, range=(2.0, 1.0)),
        "histogram(): range must not descend, got 2 to 1",
    ),
}


@pytest.mark.parametrize(("call", "start"), MESSAGES.values(), ids=MESSAGES)
def test_messages_name_what_was_called(call: Callable[[], Any], start: str) -> None:
    with pytest.raises((RuntimeError, IndexError, ValueError)) as raised:
        call()
    assert str(raised.value).startswith(start), str(raised.value)


def test_unknown_derivatives_name_the_argument() -> None:
    a = flambeau.ones(3, requires_grad=True)
    y = flambeau.special.gammainc(a, flambeau.ones(3))
    with pytest.raises(NotImplementedError) as raised:
        y.sum().backward()
    assert str(raised.value) == ("igamma(): the derivative for argument input is not implemented")


def test_errors_in_backward_are_those_of_the_operator() -> None:
    """What calls them is the engine, which users know by another name."""
    x = flambeau.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^backward: the gradient of root 0 has shape \[2\]"):
        (x * 2).backward(flambeau.ones(2))


def test_a_range_of_one_number() -> None:
    found = flambeau.histogram(flambeau.tensor([1.0, 2.0, 2.4]), bins=2, range=(2.0, 2.0))
    assert found.bin_edges.tolist() == [1.5, 2.0, 2.5]
    assert found.hist.tolist() == [0.0, 2.0]
