"""Transformations of functions against formulas, differences, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)

F64 = flambeau.float64


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return flambeau.tensor(np.random.default_rng(seed).normal(size=shape), dtype=F64)


def close(found: Tensor, expected: Any, tolerance: float = 1e-10) -> None:
    wanted = expected.detach().numpy() if isinstance(expected, Tensor) else expected
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=tolerance, atol=tolerance)


def bend(x: Tensor) -> Tensor:
    """A vector of another length, each element of which depends on all others."""
    return flambeau.cat([(x * x.sum()).sin(), x.prod().reshape(1)])


def bent_jacobian(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The Jacobian of `bend`, by hand."""
    total = x.sum()
    upper = np.cos(x * total)[:, None] * (np.eye(len(x)) * total + x[:, None])
    return np.vstack([upper, np.prod(x) / x])


def test_gradients_nest_to_any_depth() -> None:
    function: Any = flambeau.sin
    x = flambeau.tensor(0.7, dtype=F64)
    for expected in (np.cos(0.7), -np.sin(0.7), -np.cos(0.7), np.sin(0.7)):
        function = grad(function)
        result = function(x)
        close(result, expected)
        assert not result.requires_grad


def test_argnums_containers_keywords_and_aux() -> None:
    def loss(weights: dict[str, Tensor], x: Tensor, *, power: int = 1) -> Any:
        y = (weights["a"] * x**power).sum() + weights["b"]
        return y, {"seen": x}

    weights, x = {"a": numbers(3), "b": numbers()}, numbers(3, seed=1)
    (by_weights, by_x), aux = grad(loss, argnums=(0, 1), has_aux=True)(weights, x, power=2)
    close(by_weights["a"], x**2)
    close(by_weights["b"], 1.0)
    close(by_x, 2 * weights["a"] * x)
    assert flambeau.equal(aux["seen"], x)
    found, (value, _) = grad_and_value(loss, has_aux=True)(weights, x)
    close(value, (weights["a"] * x).sum() + weights["b"])
    close(found["a"], x)


def test_what_a_function_closes_over_has_gradients_too() -> None:
    w = numbers(3).requires_grad_()
    x = numbers(3, seed=1)
    found = grad(lambda x: (w * x * x).sum())(x)
    found.sum().backward()
    assert w.grad is not None
    close(w.grad, 2 * x)


def test_inputs_that_require_gradients_stay_in_the_graph() -> None:
    x = numbers(3).requires_grad_()
    grad(lambda x: (x**3).sum())(x).sum().backward()
    assert x.grad is not None
    close(x.grad, 6 * x)


def test_inside_no_grad() -> None:
    with flambeau.no_grad():
        close(grad(lambda x: (x**2).sum())(flambeau.ones(2, dtype=F64)), np.full(2, 2.0))


def test_inputs_without_influence_have_zeros() -> None:
    close(grad(lambda x, y: y.sum())(numbers(3), numbers(2)), np.zeros(3))
    close(grad(lambda x: flambeau.ones([], dtype=F64))(numbers(3)), np.zeros(3))


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
@pytest.mark.parametrize("size", [4, 60])  # a pass for each row, and one for all of them
def test_jacobians(jacobian: Any, size: int) -> None:
    x = numbers(size)
    close(jacobian(bend)(x), bent_jacobian(x.numpy()))


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_several_arguments_and_results(jacobian: Any) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        return {"product": flambeau.outer(x, y), "sum": x.sum() * y[:1]}, x

    x, y = numbers(2), numbers(3, seed=1)
    found, aux = jacobian(function, argnums=(0, 1), has_aux=True)(x, y)
    by_x, by_y = found["product"]
    close(by_x, np.einsum("ik,j->ijk", np.eye(2), y.numpy()))
    close(by_y, np.einsum("i,jk->ijk", x.numpy(), np.eye(3)))
    close(found["sum"][0], np.full((1, 2), y[0].item()))
    assert flambeau.equal(aux, x)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_nothing(jacobian: Any) -> None:
    assert jacobian(lambda x: x * 2)(flambeau.zeros(0)).shape == (0, 0)
    assert jacobian(lambda x: x[:0])(flambeau.zeros(3)).shape == (0, 3)


def test_products_with_jacobians() -> None:
    x, v, u = numbers(4), numbers(4, seed=1), numbers(5, seed=2)
    expected = bent_jacobian(x.numpy())
    output, pull = vjp(bend, x)
    close(output, bend(x))
    close(pull(u)[0], u.numpy() @ expected)
    close(pull(u)[0], u.numpy() @ expected)  # again
    output, moved = jvp(bend, (x,), (v,))
    close(output, bend(x))
    close(moved, expected @ v.numpy())
    output, push = linearize(bend, x)
    close(push(v), expected @ v.numpy())
    close(push(2 * v), 2 * expected @ v.numpy())


def test_a_complex_function_moves_along_a_complex_tangent() -> None:
    x, v = flambeau.complex(numbers(3), numbers(3, seed=1)), flambeau.complex(*numbers(2, 3))
    _, moved = jvp(lambda z: z * z, (x,), (v,))
    close(moved, 2 * x.numpy() * v.numpy())


def quartic(x: Tensor) -> Tensor:
    return (x.sum() ** 2) * (x * x).sum()


def test_hessians_in_every_composition() -> None:
    x = numbers(3)
    values = x.numpy()
    total, squares = values.sum(), (values**2).sum()
    expected = (
        2 * squares + 4 * total * (values[:, None] + values[None, :]) + 2 * total**2 * np.eye(3)
    )
    for function in (
        hessian(quartic),
        jacrev(jacrev(quartic)),
        jacfwd(jacfwd(quartic)),
        jacrev(jacfwd(quartic)),
        jacrev(grad(quartic)),
    ):
        close(function(x), expected)
    v = numbers(3, seed=1)
    close(jvp(grad(quartic), (x,), (v,))[1], expected @ v.numpy())
    close(
        grad(lambda x: vjp(quartic, x)[1](flambeau.ones([], dtype=F64))[0] @ v)(x),
        expected @ v.numpy(),
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grad(lambda x: x)(numbers(2)), "a tensor of no dims as output, got"),
        (lambda: grad(lambda x: x.sum())(flambeau.ones(2).long()), "have derivatives, got"),
        (lambda: grad(lambda x: x.sum(), argnums=1)(numbers(2)), "do not fit 1 positional"),
        (lambda: grad(lambda x: x.sum(), argnums=(0, 0))(numbers(2)), "different places"),
        (lambda: grad(lambda x: x.sum(), has_aux=True)(numbers(2)), "must return"),
        (lambda: grad(lambda x: x)(3.0), "expected tensors, got float"),
        (lambda: jvp(bend, (numbers(3),), (numbers(2),)), "does not fit a primal of shape"),
        (lambda: jvp(bend, (numbers(3),), ()), "structure of the primals"),
        (lambda: vjp(bend, numbers(3))[1]((numbers(4), numbers(4))), "structure of the output"),
        (lambda: vjp(lambda x: 3, numbers(3)), "must return tensors, got int"),
    ],
)
def test_what_cannot_be_differentiated(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


# Mapping ------------------------------------------------------------------------------------------


def test_dims_in_and_out() -> None:
    assert flambeau.vmap is vmap
    a, b = numbers(5, 3), numbers(4, 5, seed=1)
    found = vmap(flambeau.outer, in_dims=(0, 1), out_dims=2)(a, b)
    close(found, np.einsum("ni,jn->ijn", a.numpy(), b.numpy()))
    close(vmap(lambda x, w: w @ x, in_dims=(0, None))(a, numbers(2, 3)), a @ numbers(2, 3).T)
    assert vmap(lambda x: x, in_dims=-1, out_dims=-1)(a).shape == a.shape


def test_nests_of_arguments_and_results() -> None:
    x = {"a": numbers(3, 2), "b": numbers(2, 3)}
    found = vmap(lambda d, k: (d["a"].sum(), {"k": k + d["b"]}), in_dims=({"a": 0, "b": 1}, None))(
        x, flambeau.ones(2, dtype=F64)
    )
    close(found[0], x["a"].sum(1))
    close(found[1]["k"], x["b"].T + 1)


def test_gradients_of_each_sample() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    x, y = numbers(6, 3), numbers(6, 1, seed=1)
    parameters = dict(model.named_parameters())

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return ((functional_call(model, parameters, (x,)) - y) ** 2).mean()

    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    for i in range(6):
        model.zero_grad()
        ((model(x[i]) - y[i]) ** 2).mean().backward()
        for name, parameter in parameters.items():
            assert parameter.grad is not None
            close(found[name][i], parameter.grad)


def test_an_ensemble() -> None:
    models = [nn.Linear(3, 2).double() for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert buffers == {}
    assert parameters["weight"].requires_grad
    assert parameters["weight"].is_leaf
    x = numbers(5, 3)
    base = nn.Linear(3, 2).double()
    found = vmap(lambda p, x: functional_call(base, p, (x,)), in_dims=(0, None))(parameters, x)
    for i, model in enumerate(models):
        close(found[i], model(x))
    found.sum().backward()
    assert parameters["weight"].grad is not None


def test_random_numbers_of_slices() -> None:
    x = flambeau.zeros(4)
    with pytest.raises(RuntimeError, match="rand draws random numbers"):
        vmap(lambda x: x + flambeau.rand([]))(x)
    assert len(set(vmap(lambda x: x + flambeau.rand([]), randomness="different")(x).tolist())) == 4
    assert len(set(vmap(lambda x: x + flambeau.rand([]), randomness="same")(x).tolist())) == 1
    with pytest.raises(RuntimeError, match="must be one of"):
        vmap(lambda x: x, randomness="none")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmap(lambda x: x, in_dims=None)(numbers(2)), "in_dims must be an int"),
        (lambda: vmap(lambda x: x, in_dims=(None,))(numbers(2)), "all in_dims are None"),
        (lambda: vmap(lambda x: x, in_dims=2)(numbers(2)), "in_dims has 2 for a tensor"),
        (lambda: vmap(lambda x, y: x)(numbers(2), numbers(3)), "differ in size"),
        (lambda: vmap(lambda x: x, in_dims=(0, 0))(numbers(2)), "do not fit 1 positional"),
        (lambda: vmap(lambda x: x)(numbers(0, 2)), "mapped dim is empty"),
        (lambda: vmap(lambda x: 3)(numbers(2)), "must return tensors, got int"),
        (lambda: vmap(lambda x: x, out_dims=(0, 0))(numbers(2)), "out_dims"),
        (lambda: vmap(lambda x: x, chunk_size=0), "chunk_size must be positive"),
    ],
)
def test_what_cannot_be_mapped(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_batch_norm_that_looks_at_batches_only() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert replace_all_batch_norm_modules_(model) is model
    assert not dict(model.named_buffers())
    model.eval()
    close(model(flambeau.randn(8, 3)).mean(0), np.zeros(4), 1e-6)
