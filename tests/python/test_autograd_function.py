"""Functions with a backward of their own."""

from __future__ import annotations

import gc
import weakref

import pytest
from autograd_tools import close, leaf

import flambeau
from flambeau import autograd
from flambeau.autograd import Function, gradcheck, gradgradcheck
from flambeau.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class Scale(Function):
    """setup_context style, a number among the arguments, forward mode."""

    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx, grad):
        assert ctx.needs_input_grad == (True, False)
        return grad * ctx.factor, None

    @staticmethod
    def jvp(ctx, tangent, _):
        return tangent * ctx.factor


class SplitSign(Function):
    """Two results, one without gradient; a result is saved."""

    @staticmethod
    def forward(ctx, x):
        size, sign = x.abs(), x.sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(sign)
        return size, sign

    @staticmethod
    def backward(ctx, grad_size, grad_sign):
        assert grad_sign.shape == grad_size.shape
        (sign,) = ctx.saved_tensors
        return grad_size * sign


class AddInPlace(Function):
    @staticmethod
    def forward(ctx, x, y):
        x.add_(y)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


def test_custom_function():
    x = leaf([1.0, 2.0])
    y = Cube.apply(x)
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    close(x.grad, [3.0, 12.0])
    assert gradcheck(Cube.apply, (x,)) and gradgradcheck(Cube.apply, (x,))
    with pytest.raises(RuntimeError, match="apply"):
        Cube()
    with pytest.raises(RuntimeError, match="freed"):
        y.sum().backward()


def test_custom_function_styles():
    x = leaf([1.0, -2.0])
    close(Scale.apply(x, factor=5.0).detach(), [5.0, -10.0])
    assert gradcheck(Scale.apply, (x, 3.0), check_forward_ad=True)
    size, sign = SplitSign.apply(x)
    assert size.requires_grad and not sign.requires_grad
    size.sum().backward()
    close(x.grad, [1.0, -1.0])


def test_custom_function_in_place():
    x, y = leaf([1.0]), leaf([2.0])
    a = x * 3
    b = AddInPlace.apply(a, y)
    assert b is a
    (b * b).backward()
    close(x.grad, [3 * 2 * 5.0])
    close(y.grad, [10.0])
    with pytest.raises(RuntimeError, match="leaf"):
        AddInPlace.apply(x, y)


def test_custom_function_errors():
    class TooFew(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Raises(Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("inside")

    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="TooFewBackward.*expected 2"):
        TooFew.apply(x, x).backward()
    with pytest.raises(KeyError, match="inside"):
        Raises.apply(x).backward()


def test_materialize_grads():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a is None, b is None))
            return b * 2

    x = leaf(1.0)
    Two.apply(x)[1].backward()
    assert seen == [(True, False)]
    close(x.grad, 2.0)


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = leaf(3.0)
    (first,) = autograd.grad(Once.apply(x), x, create_graph=True)
    close(first.detach(), 6.0)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.backward()


def test_deeply_nested_custom_functions():
    class Nested(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            if ctx.depth:
                with flambeau.enable_grad():
                    again = x.detach().requires_grad_()
                    Nested.apply(again, ctx.depth - 1).sum().backward()
            return grad * 2, None

    x = leaf(1.0)
    Nested.apply(x, 300).backward()
    close(x.grad, 2.0)


def test_custom_functions_leave_nothing_behind():
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            _, out = ctx.saved_tensors
            return grad * out

    x = leaf([1.0])
    y = Keeps.apply(x)
    watched = weakref.ref(y)
    context = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert watched() is None and context() is None


def test_gradcheck_finds_mistakes():
    class Wrong(Cube):
        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * x * grad

    x = leaf([1.0, 2.0])
    assert gradcheck(lambda x: x.exp() * x.sin(), x, check_forward_ad=True)
    assert gradcheck(lambda x: x.exp(), x, fast_mode=True)
    assert not gradcheck(Wrong.apply, x, raise_exception=False)
    assert not gradcheck(Wrong.apply, x, raise_exception=False, fast_mode=True)
    with pytest.raises(autograd.GradcheckError, match="finite differences"):
        gradcheck(Wrong.apply, x)
    with pytest.raises(ValueError, match="float64"):
        gradcheck(flambeau.exp, flambeau.tensor([1.0], requires_grad=True))
    assert gradgradcheck(lambda x: x.sin(), x, check_fwd_over_rev=True)


def test_gradcheck_of_batches():
    class Mixing(Cube):
        """Right for one gradient, and wrong for several at once."""

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * (grad if grad.ndim == 1 else grad.flip(0))

        @staticmethod
        def vmap(info, in_dims, x):
            return Mixing.apply(x), in_dims[0]

    class Item(Cube):
        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * flambeau.tensor([g.item() for g in grad], dtype=x.dtype)

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    both = {"check_batched_grad": True, "check_batched_forward_grad": True}
    assert gradcheck(lambda x, y: (x * y.sin(), y.sum()), (x, y), check_forward_ad=True, **both)
    assert gradcheck(Cube.apply, x, check_batched_grad=True)
    assert gradgradcheck(lambda x: x.exp(), x, check_batched_grad=True)
    assert gradcheck(Item.apply, x)
    with pytest.raises(autograd.GradcheckError, match="cannot be computed for a batch"):
        gradcheck(Item.apply, x, check_batched_grad=True)
    with pytest.raises(NotImplementedError, match="masked must be None or False"):
        gradcheck(flambeau.exp, x, masked=True)
