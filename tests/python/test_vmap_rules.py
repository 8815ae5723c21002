"""Operators that write where a mask says, join blocks or align labels: all slices are computed at
once, without a loop over them, whichever arguments have a batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, vmap
from flambeau.func import grad
from flambeau.nn.functional import ctc_loss
from flambeau.utils._python_dispatch import TorchDispatchMode

GENERATOR = np.random.default_rng(7)


def numbers(*shape: int) -> Tensor:
    return flambeau.tensor(GENERATOR.standard_normal(shape))


def flags(*shape: int) -> Tensor:
    return flambeau.tensor(GENERATOR.random(shape) > 0.5)


def sum_of_squares(x: Tensor) -> Tensor:
    return (x * x).sum()


def check(func: Callable[..., Any], *values: Tensor, in_dims: tuple[int | None, ...] = ()) -> None:
    """A batch of two gives the stack of what its slices give, and nothing is said of a loop."""
    dims = in_dims or (0,) * len(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vmap(func, in_dims=dims)(*values)
    slices = [
        func(*(v if d is None else v[i] for v, d in zip(values, dims, strict=True)))
        for i in range(2)
    ]
    np.testing.assert_allclose(found.numpy(), np.stack([s.numpy() for s in slices]), atol=1e-12)


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (0, None, 0), (None, 0, None), (None, None, 0)])
def test_scatters_by_masks(in_dims: tuple[int | None, ...]) -> None:
    whole = (numbers(2, 3, 4), flags(2, 3, 4), numbers(2, 12))
    values = [v if d == 0 else v[0] for v, d in zip(whole, in_dims, strict=True)]
    check(flambeau.masked_scatter, *values, in_dims=in_dims)

    def gradient(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        return grad(lambda s: sum_of_squares(flambeau.masked_scatter(x, mask, s)))(source)

    check(gradient, *values, in_dims=in_dims)


def test_scatters_in_place() -> None:
    check(
        lambda x, mask, source: x.clone().masked_scatter_(mask, source),
        numbers(2, 3, 4), flags(2, 4), numbers(2, 6, 2),
    )  # fmt: skip
    check(flambeau.masked_scatter, numbers(2, 3), flags(2, 3) & False, numbers(2, 0))


def test_a_source_with_too_few_elements() -> None:
    mask = flags(2, 3) | True
    with pytest.raises((RuntimeError, IndexError)):
        vmap(flambeau.masked_scatter)(numbers(2, 3), mask, numbers(2, 2))
    with pytest.raises(RuntimeError):
        vmap(flambeau.masked_scatter)(numbers(2, 3), mask, numbers(2, 0))


def test_blocks() -> None:
    check(flambeau.block_diag, numbers(2, 2, 3), numbers(2, 4))
    check(
        lambda a, b: flambeau.block_diag(b, a, b), numbers(2, 2, 3), numbers(4), in_dims=(0, None)
    )
    check(
        lambda a, b: grad(lambda a: sum_of_squares(flambeau.block_diag(a, b)))(a),
        numbers(2, 2, 3), numbers(2, 4),
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, 2, 7])
def test_places(size: int) -> None:
    check(lambda x: flambeau.nonzero_static(x, size=size, fill_value=-3), flags(2, 2, 3))
    check(lambda x: flambeau.combinations(x, min(size, 3)), numbers(2, 4))


@pytest.mark.parametrize("shape", [(4, 5), (5,), (), (0, 3), (2, 0), (2, 3, 2)])
@pytest.mark.parametrize("size", [0, 1, 4, 40])
def test_a_fixed_number_of_places(shape: tuple[int, ...], size: int) -> None:
    x = np.asarray(GENERATOR.random(shape) > 0.6)
    found = flambeau.nonzero_static(flambeau.tensor(x), size=size)
    places = np.argwhere(x)[:size]
    rest = np.full((size - len(places), x.ndim), -1)
    np.testing.assert_array_equal(found.numpy(), np.concatenate([places, rest]))


def test_alignments() -> None:
    scores = numbers(2, 5, 2, 4).log_softmax(-1)
    targets = flambeau.tensor([[[1, 2], [3, 1]], [[2, 2], [1, 3]]])
    lengths = flambeau.tensor([[5, 4], [3, 5]])
    labels = flambeau.tensor([[2, 1], [1, 2]])
    check(lambda *given: ctc_loss(*given, reduction="none"), scores, targets, lengths, labels)
    rest = (targets[0], lengths[0], labels[0])
    check(lambda s: ctc_loss(s, *rest), scores)
    check(lambda s: grad(lambda s: ctc_loss(s, *rest))(s), scores)
    joined = (flambeau.tensor([1, 2, 3]), lengths[0], flambeau.tensor([2, 1]))
    check(lambda s: ctc_loss(s, *joined, reduction="sum"), scores)


def test_shapes_that_depend_on_elements_are_refused() -> None:
    mask = flambeau.tensor([[True, False, False], [True, True, False]])
    for func in (lambda m: flambeau.nonzero(m), lambda m: flambeau.masked_select(m, m)):
        with pytest.raises(RuntimeError, match="shape of a result depends on the elements"):
            vmap(func)(mask)


REFUSED: list[tuple[Callable[[Tensor], Any], type[Exception], str]] = [
    (lambda x: flambeau.softmax(x, dim=-2), IndexError, r"softmax\(\): dim -2 .* of 1 dim"),
    (lambda x: x.sum(dim=-2), IndexError, r"sum\(\): dim -2 .* of 1 dim"),
    (lambda x: x.sum(dim=1), IndexError, r"sum\(\): dim 1 .* of 1 dim"),
    (lambda x: x.cumsum(-2), IndexError, r"cumsum\(\): dim -2 .* of 1 dim"),
    (lambda x: x.select(-2, 0), IndexError, r"select\(\): dim -2 .* of 1 dim"),
    (lambda x: x.cumsum_(-2), IndexError, r"cumsum\(\): dim -2 .* of 1 dim"),
    (flambeau.tril, RuntimeError, "at least two dims, got shape .3."),
    (lambda x: x.mT, RuntimeError, "at least 2 dim.*got shape .3."),
    (flambeau.linalg.cholesky, RuntimeError, "expected square matrices.* of shape .3."),
    (lambda x: flambeau.mm(x, flambeau.ones(3, 3)), RuntimeError, "shapes .3. and .3, 3."),
]


@pytest.mark.parametrize(("func", "kind", "message"), REFUSED)
def test_a_slice_is_refused_that_has_too_few_dims(
    func: Callable[[Tensor], Any], kind: type[Exception], message: str
) -> None:
    """The dim of the batch is none of the slice's: a vector is no matrix, in a batch neither."""
    with pytest.raises(kind, match=message):
        func(flambeau.ones(3))
    with pytest.raises(kind, match=message):
        vmap(func)(flambeau.eye(3))
    assert vmap(vmap(flambeau.tril))(flambeau.ones(2, 2, 3, 3)).shape == (2, 2, 3, 3)


def test_what_is_asked_of_a_slice_is_no_call() -> None:
    class Calls(TorchDispatchMode):
        names: ClassVar[list[str]] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    with Calls():
        vmap(lambda x: x.cumprod(0).tril())(flambeau.ones(2, 3, 3))
    assert Calls.names.count("aten.cumprod.default") == 1, Calls.names


def test_conditions_stay_conditions() -> None:
    """One of a slice has no dims, where what it chooses from has some."""

    def chosen(q: Tensor, x: Tensor) -> Tensor:
        return flambeau.where(q < 1, x, -1.0) * flambeau.where(q < 1, x, x.new_zeros(()))

    check(chosen, flambeau.arange(2), numbers(2, 3))
    check(lambda q, x: x.masked_fill(q < 1, 7.0), flambeau.arange(2), numbers(2, 3))
