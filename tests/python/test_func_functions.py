"""autograd.Function inside of the transformations of flambeau.func: which of its methods each uses,
and that both nest. Values are derivatives known in closed form.
"""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function, forward_ad
from flambeau.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap

X, T = flambeau.tensor([1.0, 2.0, 3.0]), flambeau.tensor([1.0, 0.5, 2.0])


class Pushed(Function):
    """x ** 3, with forward mode alone."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent


class Told(Function):
    """sin(x), whose backward claims a derivative of 100 x: so it is seen which one is taken."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 100 * x * gradient

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return x.cos() * tangent


class Product(Function):
    """(x y, indices of no derivative), in the style where forward takes ctx."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, name: str) -> tuple[Tensor, Tensor]:
        ctx.x, ctx.y = x, y
        order = x.argsort()
        ctx.mark_non_differentiable(order)
        return x * y, order

    @staticmethod
    def jvp(ctx: Any, x: Tensor, y: Tensor, name: None) -> tuple[Tensor, None]:
        assert name is None
        return x * ctx.y + y * ctx.x, None


def close(found: Any, expected: Any) -> None:
    flambeau.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_products_with_a_jacobian_that_only_forward_mode_knows() -> None:
    value, tangent = jvp(Pushed.apply, (X,), (T,))
    close(value, X**3)
    close(tangent, 3 * X**2 * T)
    assert not tangent.requires_grad
    close(linearize(Pushed.apply, X)[1](T), 3 * X**2 * T)
    close(jacfwd(Pushed.apply)(X), flambeau.diag(3 * X**2))


def test_they_nest() -> None:
    def once(x: Tensor) -> Any:
        return jvp(Pushed.apply, (x,), (T,))[1]

    close(jvp(once, (X,), (T,))[1], 6 * X * T * T)
    close(grad(lambda x: once(x).sum())(X), 6 * X * T)
    close(jacfwd(jacfwd(Pushed.apply))(X).diagonal().diagonal(), 6 * X)
    close(vmap(lambda x, t: jvp(Pushed.apply, (x,), (t,))[1])(X, T), 3 * X**2 * T)
    close(jvp(vmap(Pushed.apply), (X,), (T,))[1], 3 * X**2 * T)
    rows = flambeau.stack([X, 2 * X])
    each = vmap(vmap(lambda x: jvp(Pushed.apply, (x,), (x,))[1]))(rows)
    close(each, 3 * rows**3)


def test_reverse_mode_wants_a_backward() -> None:
    for call in (
        lambda: grad(lambda x: Pushed.apply(x).sum())(X),
        lambda: jvp(grad(lambda x: Pushed.apply(x).sum()), (X,), (T,)),
        lambda: Pushed.apply(X.clone().requires_grad_()).sum().backward(),
    ):
        with pytest.raises(NotImplementedError, match="must define backward"):
            call()


def test_which_derivative_a_transformation_takes() -> None:
    pushed, claimed = X.cos(), 100 * X
    close(jvp(Told.apply, (X,), (T,))[1], pushed * T)
    close(linearize(Told.apply, X)[1](T), pushed * T)
    close(jacfwd(Told.apply)(X), flambeau.diag(pushed))
    close(vmap(lambda x, t: jvp(Told.apply, (x,), (t,))[1])(X, T), pushed * T)
    close(jvp(vmap(Told.apply), (X,), (T,))[1], pushed * T)
    close(grad(lambda x: Told.apply(x).sum())(X), claimed)
    close(jacrev(Told.apply)(X), flambeau.diag(claimed))
    # Of two transformations the inner one chooses; the outer one differentiates what that computes.
    close(jvp(grad(lambda x: Told.apply(x).sum()), (X,), (T,))[1], 100 * T)
    close(grad(lambda x: jvp(Told.apply, (x,), (T,))[1].sum())(X), -X.sin() * T)


def test_a_function_without_jvp_is_pushed_through_by_its_backward() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    close(jvp(Square.apply, (X,), (T,))[1], 2 * X * T)
    close(hessian(lambda x: Square.apply(x).sum())(X), 2 * flambeau.eye(3))


def test_arguments_without_tangents_and_results_without_derivatives() -> None:
    (value, order), (tangent, none) = jvp(lambda x: Product.apply(x, T, "a"), (X,), (X,))
    close((value, tangent), (X * T, X * T))
    assert order.tolist() == [0, 1, 2]
    assert none.tolist() == [0, 0, 0] and none.dtype == order.dtype
    close(jvp(lambda y: Product.apply(X, y, "a")[0], (T,), (T,))[1], X * T)


def test_what_jvp_finds_in_forward_mode() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, T)
        for function, slope in ((Pushed, 3 * X**2), (Told, X.cos())):
            close(forward_ad.unpack_dual(function.apply(dual)).tangent, slope * T)
        product = forward_ad.unpack_dual(Product.apply(dual, X, "a")[0])
        close(product.tangent, X * T)


def test_zeros_are_left_out_where_a_function_wants_none() -> None:
    class Sparing(Product):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor, name: str) -> tuple[Tensor, Tensor]:
            ctx.set_materialize_grads(False)
            return Product.forward(ctx, x, y, name)

        @staticmethod
        def jvp(ctx: Any, x: Tensor, y: Any, name: None) -> tuple[Tensor, None]:
            assert y is None
            return x * ctx.y, None

    with forward_ad.dual_level():
        found = Sparing.apply(forward_ad.make_dual(X, T), X, "a")[0]
        close(forward_ad.unpack_dual(found).tangent, X * T)
