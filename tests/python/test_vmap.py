"""Mapping by rules for batches: indexing, writes, random numbers, levels, derivatives of all."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn, vmap
from flambeau.autograd import forward_ad
from flambeau.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
)
from flambeau.nn import functional
from flambeau.utils._pytree import tree_flatten, tree_unflatten

F64 = flambeau.float64


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return flambeau.tensor(np.random.default_rng(seed).normal(size=shape), dtype=F64)


def compare(function: Any, *args: Any, in_dims: Any = 0, **options: Any) -> Tensor:
    """What a map gives is the stack of what each slice gives."""
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    rows = [
        function(
            *(a if d is None else a.select(d, i).clone() for a, d in zip(args, dims, strict=True))
        )
        for i in range(size)
    ]
    found = vmap(function, in_dims, **options)(*(a.clone() for a in args))
    wanted = flambeau.stack(rows)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-10, atol=1e-10)
    assert found.dtype == wanted.dtype
    return found


# Members and indexing -----------------------------------------------------------------------------


def test_what_a_function_sees() -> None:
    seen: list[Any] = []

    def look(x: Tensor) -> Tensor:
        seen.append(
            (tuple(x.shape), x.dim(), x.size(-1), len(x), x.numel(), x.dtype, x.device.type)
        )
        assert isinstance(x, Tensor)
        assert x.is_floating_point()
        assert "Batched" in repr(x)
        return x.T + x.mT.double() + x.to(flambeau.float32)

    vmap(look)(flambeau.ones(5, 3, 3))
    assert seen == [((3, 3), 2, 3, 3, 9, flambeau.float32, "cpu")]


INDEX = flambeau.tensor([2, 0])
KEYS: dict[str, Any] = {
    "int": 1,
    "slice": slice(1, None, 2),
    "none": (None, 0),
    "ellipsis": (..., 1),
    "tensor": INDEX,
    "list": [0, 2, 2],
    "mask": flambeau.tensor([True, False, True]),
    "apart": (INDEX, slice(None), INDEX),
    "together": (slice(None), INDEX, INDEX),
    "pairs": (INDEX[:, None], INDEX),
    "zero dims": flambeau.tensor(1),
    "after an ellipsis": (..., INDEX),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_that_are_the_same_for_all(key: Any) -> None:
    x = numbers(4, 3, 3, 3)
    compare(lambda x: x[key], x)

    def write(x: Tensor, v: Tensor) -> Tensor:
        x[key] = v
        x[key] += 1.0
        return x

    compare(write, x, numbers(4, seed=1))


def test_keys_that_differ_between_slices() -> None:
    x, k = numbers(4, 3, 5), flambeau.tensor([2, 0, 1, 1])
    many = flambeau.tensor([[0, 2], [1, 1], [2, 0], [0, 0]])
    compare(lambda x, k: x[k], x, k)
    compare(lambda x, k: x[:, k], x, many)
    compare(lambda x, k: x[k, 1:], x, many)
    compare(lambda x, k: x[k, k + 1], x, many)
    compare(lambda x, k: x[..., k], x, many)
    compare(lambda x, k: x[k[:, None], INDEX], x, many)
    compare(lambda x, k: x[k], x[0], many, in_dims=(None, 0))
    compare(lambda x, k: x[:, k], x[0], k, in_dims=(None, 0))

    def write(x: Tensor, k: Tensor, v: Tensor) -> Tensor:
        x[:, k] = v
        return x

    compare(write, x, flambeau.tensor([[0, 2], [1, 3], [2, 0], [4, 0]]), numbers(4, 3, 2, seed=1))


# Writes -------------------------------------------------------------------------------------------


def test_functions_that_write_into_their_tensors() -> None:
    def change(x: Tensor, y: Tensor) -> Tensor:
        total = x.new_zeros(3)
        total += x
        total.mul_(y).clamp_(min=0)
        flambeau.zeros_like(x).copy_(y)
        functional.relu(total, inplace=True)
        return total.add_(1)

    x, y = numbers(4, 3), numbers(4, 3, seed=1)
    compare(change, x, y)
    compare(change, x, y[0], in_dims=(0, None))
    vmap(lambda row: row.fill_(7))(x)
    assert x.unique().tolist() == [7.0]  # slices are views


WRITES: dict[str, Any] = {
    "cumsum": lambda x: x.cumsum_(0),
    "triu": lambda x: x.triu_(1),
    "transpose": lambda x: x.transpose_(0, 1).mul_(2),
    "unsqueeze": lambda x: x.unsqueeze_(-1).add_(x.sum()),
    "squeeze": lambda x: x[:1].squeeze_(0),
    "a view of a view": lambda x: x.view(12)[2:].view(5, 2).t().exp_().clone(),
    "rows": lambda x: x.index_copy_(0, flambeau.tensor([1]), x[:1] * 2),
}


@pytest.mark.parametrize("change", WRITES.values(), ids=WRITES)
def test_methods_that_write(change: Any) -> None:
    x = numbers(2, 3, 4)
    compare(change, x)
    found = x.clone()
    vmap(lambda row: change(row).clone())(found)  # slices are views of what was given
    rows = [row.clone() for row in x]
    for row in rows:
        change(row)
    if all(row.shape == x.shape[1:] for row in rows):
        np.testing.assert_allclose(found.numpy(), np.stack([row.numpy() for row in rows]))


def test_what_changes_the_shape_by_its_body_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"Tensor.t_ changes the shape; use the form that is not"
    ):
        vmap(lambda x: x.t_())(numbers(2, 3, 4))


def test_what_is_the_same_for_all_cannot_hold_a_batch() -> None:
    shared = flambeau.zeros(3, dtype=F64)
    with pytest.raises(RuntimeError, match=r"add_ would write a batch into a tensor"):
        vmap(lambda x: shared.add_(x))(numbers(4, 3))
    with pytest.raises(RuntimeError, match="would write a batch into a tensor that has none"):
        vmap(lambda x: shared.__setitem__(0, x[0]))(numbers(4, 3))
    with pytest.raises(RuntimeError, match="out= is not supported"):
        vmap(lambda x: flambeau.add(x, 1, out=flambeau.empty(3)))(numbers(4, 3))


# What depends on elements -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.item(),
        bool,
        float,
        int,
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: 1 if x > 0 else 2,
        lambda x: [1, 2][x.long()],
    ],
)
def test_elements_are_not_read(read: Any) -> None:
    with pytest.raises(RuntimeError, match=r"reads elements, which differ from slice to slice"):
        vmap(lambda x: x + read(x))(numbers(4))
    with pytest.raises(RuntimeError, match="a mask that differs"):
        vmap(lambda x: x[x > 0])(numbers(4, 3))


def test_a_batch_ends_with_its_map() -> None:
    kept: list[Tensor] = []
    vmap(lambda x: kept.append(x) or x)(numbers(4))
    with pytest.raises(RuntimeError, match="after its vmap had ended"):
        kept[0] + 1


def test_what_has_no_rule_warns() -> None:
    x = flambeau.tensor([[0, 1, 1], [2, 2, 1]])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = vmap(lambda x: flambeau.bincount(x, minlength=3))(x)
    assert found.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert not seen or "slice by slice" in str(seen[0].message)


# Random numbers -----------------------------------------------------------------------------------


def test_draws() -> None:
    x = flambeau.ones(6, 50)
    for draw in (
        lambda x: flambeau.randn(50),
        lambda x: functional.dropout(x, 0.5),
        lambda x: flambeau.bernoulli(x * 0.5),
        lambda x: x + flambeau.rand_like(x),
        lambda x: flambeau.randperm(50) + x,
        lambda x: flambeau.randint(0, 1000, (50,)) + x,
        lambda x: x.clone().normal_(),
    ):
        with pytest.raises(RuntimeError, match="draws random numbers"):
            vmap(draw)(x)
        different = vmap(draw, randomness="different")(x)
        assert different.shape == (6, 50)
        assert len({tuple(row) for row in different.tolist()}) == 6
        flambeau.manual_seed(3)
        alike = vmap(draw, randomness="same", out_dims=0)(x)
        assert len({tuple(row) for row in alike.tolist()}) == 1
    assert vmap(lambda x: functional.dropout(x, 0.5, training=False))(x).equal(x)


# Levels and derivatives ---------------------------------------------------------------------------


def test_maps_in_maps() -> None:
    x, y = numbers(4, 3), numbers(5, 3, seed=1)
    found = vmap(lambda a: vmap(lambda b: (a * b).sum() + b[0])(y))(x)
    np.testing.assert_allclose(found.numpy(), (x @ y.T + y[:, 0]).numpy())
    found = vmap(vmap(flambeau.mul, (0, None)), (None, 0))(x[0], y[:, 0])
    np.testing.assert_allclose(found.numpy(), np.outer(y[:, 0].numpy(), x[0].numpy()))
    noise = vmap(vmap(lambda a: a + flambeau.rand([]), randomness="different"), randomness="same")
    rows = noise(flambeau.zeros(3, 4))
    assert len(set(rows[0].tolist())) == 4
    assert rows[0].equal(rows[1])


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_chunks(chunk: int) -> None:
    sizes: list[int] = []

    def function(x: Tensor) -> Tensor:
        sizes.append(int(x.batch_level.size))  # type: ignore[attr-defined]
        return x.sin()

    x = numbers(5, 2)
    found = vmap(function, out_dims=1, chunk_size=chunk)(x)
    np.testing.assert_allclose(found.numpy(), np.sin(x.numpy()).T)
    assert max(sizes) <= chunk
    assert sum(sizes) == 5


def test_derivatives_of_maps_and_maps_of_derivatives() -> None:
    def f(x: Tensor) -> Tensor:
        return (x.sin() * x.sum()).prod() + x[0] ** 3

    x, v = numbers(4, 3), numbers(4, 3, seed=1)
    compare(grad(f), x)
    compare(jacrev(lambda x: x * x.sum()), x)
    compare(jacfwd(lambda x: x * x.sum()), x)
    compare(hessian(f), x)
    compare(grad(lambda x: grad(f)(x).sum()), x)
    compare(lambda x, v: jvp(f, (x,), (v,))[1], x, v)
    compare(lambda x, v: jvp(f, (x,), (v,))[1], x[0], v, in_dims=(None, 0))
    outer = grad(lambda x: vmap(f)(x).sum())(x)
    np.testing.assert_allclose(outer.numpy(), vmap(grad(f))(x).numpy(), rtol=1e-10)
    leaf = x.clone().requires_grad_()
    vmap(f)(leaf).sum().backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), outer.numpy(), rtol=1e-10)


def test_a_jacobian_out_of_a_map_over_cotangents() -> None:
    x = numbers(3)
    _, pull = vjp(lambda x: x * x.sum(), x)
    (found,) = vmap(pull)(flambeau.eye(3, dtype=F64))
    np.testing.assert_allclose(found.numpy(), jacrev(lambda x: x * x.sum())(x).numpy())


def test_gradients_for_shared_weights() -> None:
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.LayerNorm(48), nn.Linear(48, 4)
    ).double()
    x, y = numbers(5, 1, 6, 6), flambeau.tensor([0, 3, 1, 1, 2])
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters: Any, x: Tensor, y: Tensor) -> Tensor:
        output = functional_call(model, parameters, (x.unsqueeze(0),))
        return functional.cross_entropy(output, y.unsqueeze(0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    for i in range(5):
        for name, gradient in grad(loss)(parameters, x[i], y[i]).items():
            np.testing.assert_allclose(found[name][i].numpy(), gradient.numpy(), atol=1e-10)


def test_ensembles_of_models() -> None:
    models = [nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)).double() for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    x = numbers(6, 3)

    def call(parameters: Any, buffers: Any, x: Tensor) -> Tensor:
        found: Tensor = functional_call(models[0], (parameters, buffers), (x,))
        return found

    found = vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    for row, model in zip(found, models, strict=True):
        np.testing.assert_allclose(row.detach().numpy(), model(x).detach().numpy(), rtol=1e-10)


# Functions with a derivative of their own ---------------------------------------------------------


class Cube(flambeau.autograd.Function):
    """Its rule is generated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, w: Tensor) -> Tensor:  # type: ignore[override]
        return x**3 * w

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, w = ctx.saved_tensors
        return 3 * x**2 * w * grad, (x**3 * grad).sum()

    @staticmethod
    def jvp(ctx: Any, moved: Any, changed: Any) -> Any:
        x, w = ctx.saved_tensors
        moved = 0 if moved is None else 3 * x**2 * w * moved
        return moved if changed is None else moved + x**3 * changed


class Doubled(flambeau.autograd.Function):
    """Its rule is written."""

    seen: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * 2, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, factor: float) -> Any:
        Doubled.seen = (info.batch_size, info.randomness, in_dims)
        return Doubled.apply(x, factor), in_dims[0]


def test_functions_with_a_generated_rule() -> None:
    x, w = numbers(4, 3), numbers(seed=1)
    compare(Cube.apply, x, w, in_dims=(0, None))
    compare(grad(lambda x: Cube.apply(x, w).sum()), x)
    leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
    vmap(Cube.apply, (0, None))(leaf, weight).sum().backward()
    assert leaf.grad is not None
    assert weight.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), (3 * x**2 * w).numpy())
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, 2 * x)
        moved = forward_ad.unpack_dual(vmap(Cube.apply, (0, None))(dual, w)).tangent
        np.testing.assert_allclose(moved.numpy(), (6 * x**3 * w).numpy())
    np.testing.assert_allclose(weight.grad.numpy(), (x**3).sum().numpy())


def test_functions_of_what_has_no_batch() -> None:
    x, w = numbers(4, 3), numbers(3, seed=1)
    found = vmap(lambda x: x + Doubled.apply(w, 2.0))(x)
    np.testing.assert_allclose(found.numpy(), (x + 2 * w).numpy())


def test_functions_with_a_written_rule() -> None:
    x = numbers(4, 3)
    found = vmap(lambda x: Doubled.apply(x, 2.0))(x)
    np.testing.assert_allclose(found.numpy(), 2 * x.numpy())
    assert Doubled.seen == (4, "error", (0, None))

    class Plain(flambeau.autograd.Function):
        """It has none."""

    with pytest.raises(RuntimeError, match="Plain has no rule for batches"):
        vmap(Plain.apply)(x)


def test_results_that_have_names() -> None:
    """What an operator gives by names is a nest, as a named tuple is."""
    rows = flambeau.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])
    found = vmap(lambda row: row.max(0))(rows)
    assert type(found) is type(rows.max(1))
    assert found.values.tolist() == [5.0, 7.0] and found.indices.tolist() == [1, 0]
    values, spec = tree_flatten({"found": found})
    assert [v.shape for v in values] == [(2,), (2,)]
    assert tree_unflatten(values, spec)["found"].indices is found.indices
    ranked = vmap(flambeau.sort)(rows)
    assert ranked.values[1].tolist() == [3.0, 4.0, 7.0]
