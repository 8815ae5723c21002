"""Jacobians, Hessians and maps of derivatives: each operator is called once, however many rows
there are, and the values are those of the formulas."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn, vmap
from flambeau.autograd import functional as autograd_functional
from flambeau.func import grad, hessian, jacfwd, jacobians, jacrev, jvp, vjp
from flambeau.nn import functional
from flambeau.profiler import profile

F64 = flambeau.float64


@pytest.fixture(autouse=True)
def in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also Jacobians whose graphs are so small that a pass for each row is quicker."""
    monkeypatch.setattr(jacobians, "_FEW_ROWS", 0)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return flambeau.tensor(np.random.default_rng(seed).normal(size=shape), dtype=F64)


def calls(compute: Callable[[], Any]) -> int:
    """How many operators run, those inside of others too."""
    for _ in range(2):  # what is set up on first use, and planned on the second
        compute()
    with profile() as profiled:
        compute()
    return sum(event.count for event in profiled.key_averages())


def layer(x: Tensor) -> Tensor:
    """Of a row of any length."""
    return flambeau.tanh(x * x.cumsum(0)).sort().values.exp()[1:] / (1 + x.norm())


MAPS: dict[str, Callable[[Tensor], Any]] = {
    "jacrev": jacrev(layer),
    "jacfwd": jacfwd(layer),
    "hessian": hessian(lambda x: layer(x).sum()),
    "jacrev of jacrev": jacrev(jacrev(lambda x: layer(x).sum())),
    "jacrev of jacfwd": jacrev(jacfwd(lambda x: layer(x).sum())),
    "vmap of vjp": lambda x: vmap(vjp(layer, x)[1])(
        flambeau.ones(x.numel(), x.numel() - 1).double()
    ),
    "vmap of jvp": lambda x: vmap(lambda t: jvp(layer, (x,), (t,))[1])(
        flambeau.eye(x.numel(), dtype=F64)
    ),
    "vmap of grad": lambda x: vmap(grad(lambda r: layer(r).sum()))(x.expand(x.numel(), -1) + 1),
    "vmap of jacrev": lambda x: vmap(jacrev(layer))(x.expand(x.numel(), -1) + 1),
    "jacobian": lambda x: autograd_functional.jacobian(layer, x, vectorize=True),
    "jacobian of columns": lambda x: autograd_functional.jacobian(
        layer, x, vectorize=True, strategy="forward-mode"
    ),
    "hessian of functional": lambda x: autograd_functional.hessian(
        lambda r: layer(r).sum(), x, vectorize=True
    ),
}


@pytest.mark.parametrize("compute", MAPS.values(), ids=MAPS)
def test_operators_are_called_once(compute: Callable[[Tensor], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = [calls(lambda n=n: compute(numbers(n))) for n in (3, 12)]
    assert counts[0] == counts[1] > 0


def test_chunks_are_what_is_computed_at_once() -> None:
    x = numbers(12)
    whole, halves, rows = (calls(lambda c=c: jacrev(layer, chunk_size=c)(x)) for c in (None, 6, 1))
    assert whole < halves < rows
    for chunk in (1, 5, 11, 40):
        found = jacrev(layer, chunk_size=chunk)(x)
        np.testing.assert_allclose(found.numpy(), jacrev(layer)(x).numpy(), rtol=1e-12)
    with pytest.raises(ValueError, match=r"jacrev\(\): chunk_size must be positive, got 0"):
        jacrev(layer, chunk_size=0)


def test_jacobians_are_those_of_formulas() -> None:
    w, x = numbers(4, 3), numbers(3, seed=1)
    wanted = np.cos(w.numpy() @ x.numpy())[:, None] * w.numpy()
    for transform in (jacrev, jacfwd):
        found = transform(lambda x: (w @ x).sin())(x)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    a = numbers(3, 3, seed=2)
    second = hessian(lambda x: x @ a @ x + (x**3).sum())(x)
    wanted = a.numpy() + a.numpy().T + np.diag(6 * x.numpy())
    np.testing.assert_allclose(second.numpy(), wanted, rtol=1e-12)
    third = jacrev(hessian(lambda x: (x**4).sum()))(x).numpy()
    wanted = np.zeros((3, 3, 3))
    wanted[range(3), range(3), range(3)] = 24 * x.numpy()
    np.testing.assert_allclose(third, wanted, rtol=1e-12)


def test_jacobians_of_several_outputs_and_arguments() -> None:
    x, y = numbers(2), numbers(3, seed=1)

    def both(x: Tensor, y: Tensor) -> dict[str, Tensor]:
        return {"outer": flambeau.outer(x, y), "sum": x.sum(), "none": x.new_zeros(0)}

    for transform in (jacrev, jacfwd):
        found = transform(both, (0, 1))(x, y)
        by_x, by_y = found["outer"]
        np.testing.assert_allclose(by_x.numpy(), np.einsum("ik,j->ijk", np.eye(2), y.numpy()))
        np.testing.assert_allclose(by_y.numpy(), np.einsum("i,jk->ijk", x.numpy(), np.eye(3)))
        assert found["sum"][0].tolist() == [1.0, 1.0]
        assert found["sum"][1].tolist() == [0.0, 0.0, 0.0]
        assert [tuple(part.shape) for part in found["none"]] == [(0, 2), (0, 3)]


def write_into_parts(x: Tensor) -> Tensor:
    y = flambeau.zeros(4, dtype=F64)
    y[1:3] = x[:2] * x[1:]
    y[::2] += x[0]
    z = y.clone()
    z.t().mul_(x[2])
    z.view(2, 2)[0].exp_()
    return z


def test_writes_into_views() -> None:
    x = numbers(3)
    a, b, c = x.tolist()
    product, other = a * b + 0.0, b * c + a
    e0, e1 = np.exp(a * c), np.exp(product * c)
    wanted = [
        [e0 * c, 0, e0 * a],
        [e1 * b * c, e1 * a * c, e1 * product],
        [c, c * c, other + b * c],
        [0, 0, 0],
    ]
    for transform in (jacrev, jacfwd):
        np.testing.assert_allclose(transform(write_into_parts)(x).numpy(), wanted, rtol=1e-12)


LAYERS: dict[str, Callable[[Tensor], Tensor]] = {
    "convolution": lambda x: functional.conv2d(
        x.reshape(1, 2, 3, 3), x.reshape(2, 1, 3, 3), padding=1, groups=2
    ),
    "pooling": lambda x: functional.max_pool2d(x.reshape(1, 2, 3, 3), 2, 1),
    "normalization": lambda x: functional.batch_norm(x.reshape(3, 2, 3), None, None, training=True),
    "attention": lambda x: functional.scaled_dot_product_attention(*x.reshape(3, 1, 2, 3)),
    "entropy": lambda x: functional.cross_entropy(
        x.reshape(6, 3), flambeau.arange(6) % 3, reduction="none"
    ),
    "decomposition": lambda x: flambeau.linalg.svd(x.reshape(6, 3), full_matrices=False)[1],
    "solve": lambda x: flambeau.linalg.solve(x[:9].reshape(3, 3), x[9:].reshape(3, 3)),
    "indices": lambda x: x.reshape(6, 3)[[0, 2, 2], 1:].index_select(1, flambeau.tensor([1, 1])),
    "spectrum": lambda x: flambeau.fft.rfft(x).abs(),
    "recurrence": lambda x: LSTM(x.reshape(3, 1, 6))[0],
    "resampling": lambda x: functional.interpolate(x.reshape(1, 2, 3, 3), size=5, mode="bilinear"),
}
LSTM = nn.LSTM(6, 2).double().requires_grad_(False)


@pytest.mark.parametrize("function", LAYERS.values(), ids=LAYERS)
def test_rows_of_layers_are_those_of_one_backward_each(
    function: Callable[[Tensor], Tensor],
) -> None:
    x = numbers(18).requires_grad_()
    y = function(x).flatten()
    rows = [flambeau.autograd.grad(v, x, retain_graph=True)[0].numpy() for v in y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for transform in (jacrev, jacfwd):
            found = transform(function)(x.detach()).reshape(len(rows), 18)
            np.testing.assert_allclose(found.numpy(), np.stack(rows), rtol=1e-7, atol=1e-9)


# autograd.grad inside of vmap ---------------------------------------------------------------------


def test_what_is_the_same_for_all_has_a_gradient_for_each() -> None:
    w, x = numbers(3).requires_grad_(), numbers(4, 3, seed=1)

    def by_weights(x: Tensor) -> Tensor:
        return flambeau.autograd.grad((w * x).sin().sum(), w)[0]

    counts = []
    for size in (2, 3):
        counts.append(calls(lambda n=size: vmap(by_weights)(x[:n])))
    assert counts[0] == counts[1]
    wanted = np.cos(w.detach().numpy() * x.numpy()) * x.numpy()
    np.testing.assert_allclose(vmap(by_weights)(x).numpy(), wanted, rtol=1e-12)

    def by_both(x: Tensor) -> tuple[Tensor, Tensor]:
        x.requires_grad_()
        a, b = flambeau.autograd.grad((w * x * x).sum(), (w, x))
        return a, b

    a, b = vmap(by_both)(x)
    np.testing.assert_allclose(a.numpy(), x.numpy() ** 2, rtol=1e-12)
    np.testing.assert_allclose(b.numpy(), 2 * x.numpy() * w.detach().numpy(), rtol=1e-12)


def test_rows_of_cotangents() -> None:
    x = numbers(3).requires_grad_()
    y = x**3
    rows = numbers(5, 3, seed=1)
    (found,) = flambeau.autograd.grad(y, x, rows, is_grads_batched=True, retain_graph=True)
    np.testing.assert_allclose(found.numpy(), rows.numpy() * 3 * x.detach().numpy() ** 2)
    with pytest.raises(ValueError, match="needs grad_outputs for every output"):
        flambeau.autograd.grad(y, x, is_grads_batched=True)
    with pytest.raises(ValueError, match=r"count the same rows, got shapes \[\(5, 3\), \(4, 3\)\]"):
        flambeau.autograd.grad((y, y * 2), x, (rows, rows[:4]), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="strict=True and vectorize=True do not go together"):
        autograd_functional.jacobian(lambda x: x * 2, x, strict=True, vectorize=True)

    def rows_of_slices(x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        return flambeau.autograd.grad(x**3, x, rows, is_grads_batched=True)[0]

    many = vmap(rows_of_slices)(numbers(2, 3, seed=2))
    wanted = rows.numpy()[None] * 3 * numbers(2, 3, seed=2).numpy()[:, None] ** 2
    np.testing.assert_allclose(many.numpy(), wanted)


def test_functions_with_a_backward_of_their_own() -> None:
    class Cube(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x

    x = numbers(4)
    found = jacrev(lambda x: Cube.apply(x.sin()))(x)
    wanted = np.diag(3 * np.sin(x.numpy()) ** 2 * np.cos(x.numpy()))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
