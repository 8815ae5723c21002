"""Operators written in Python: types, devices, gradients, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, _custom_op, library
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.library import custom_op


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Every test starts with no operators."""
    known = dict(_custom_op._registered)
    yield
    _custom_op._registered.clear()
    _custom_op._registered.update(known)


def make_cube() -> Any:
    @custom_op("mylib::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        """The third power."""
        return flambeau.from_numpy(np.asarray(x.numpy() ** 3))

    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])

    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    cube.register_autograd(backward, setup_context=setup_context)
    return cube


def test_call() -> None:
    cube = make_cube()
    x = flambeau.tensor([1.0, -2.0])
    assert cube(x).tolist() == [1.0, -8.0]
    assert flambeau.ops.mylib.cube is cube
    assert flambeau.ops.mylib.cube.default(x=x).tolist() == [1.0, -8.0]
    assert cube.__doc__ == "The third power."
    assert repr(cube) == "<custom operator mylib::cube(x: Tensor) -> Tensor>"
    assert dir(flambeau.ops.mylib) == ["cube"]
    with pytest.raises(AttributeError, match="mylib::square"):
        _ = flambeau.ops.mylib.square
    with pytest.raises(AttributeError, match="otherlib"):
        _ = flambeau.ops.otherlib


def test_gradients() -> None:
    cube = make_cube()
    x = flambeau.randn(3, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(cube, (x,))
    assert gradgradcheck(cube, (x,))
    assert gradcheck(lambda a: flambeau.sin(cube(a * 2)), (x,))
    with flambeau.no_grad():
        assert not cube(x).requires_grad


def test_wrong_gradient_is_found() -> None:
    cube = make_cube()
    cube.register_autograd(lambda ctx, grad: 2 * grad)
    with pytest.raises(RuntimeError):
        gradcheck(cube, (flambeau.randn(3, dtype=flambeau.float64, requires_grad=True),))


def test_missing_gradient() -> None:
    @custom_op("mylib::opaque", mutates_args=())
    def opaque(x: Tensor) -> Tensor:
        return x.clone()

    y = opaque(flambeau.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="mylib::opaque: no gradient is known"):
        y.sum().backward()


def test_fake() -> None:
    cube = make_cube()
    x = flambeau.empty(2, 3, device="meta")
    with pytest.raises(
        NotImplementedError, match="mylib::cube: there is no kernel for device meta"
    ):
        cube(x)

    @cube.register_fake
    def _(x: Tensor) -> Tensor:
        return flambeau.empty_like(x)

    assert cube(x).shape == (2, 3)
    assert cube(x).is_meta


def test_devices() -> None:
    @custom_op("mylib::where", mutates_args=(), device_types="cuda")
    def where(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(
        NotImplementedError, match="no kernel for device cpu; it has kernels for cu"
    ):
        where(flambeau.ones(1))

    @where.register_kernel("cpu")
    def _(x: Tensor) -> Tensor:
        return x + 2

    assert where(flambeau.ones(1)).item() == 3


def test_lists_results_and_keywords() -> None:
    @custom_op("mylib::mix", mutates_args=())
    def mix(
        parts: Sequence[Tensor], scale: float, *, bias: Tensor | None = None, n: int = 1
    ) -> tuple[Tensor, Tensor]:
        total = sum(part * scale for part in parts) * n
        return total if bias is None else total + bias, parts[0] * 2

    def setup_context(
        ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: Any
    ) -> None:
        ctx.count, ctx.factor = len(inputs[0]), inputs[1] * keyword_only_inputs["n"]

    def backward(ctx: Any, total: Tensor, double: Tensor) -> Any:
        gradients = [total * ctx.factor for _ in range(ctx.count)]
        gradients[0] = gradients[0] + 2 * double
        return gradients, None

    mix.register_autograd(backward, setup_context=setup_context)
    parts = [flambeau.randn(2, dtype=flambeau.float64, requires_grad=True) for _ in range(3)]
    assert gradcheck(lambda *p: mix(list(p), 2.0, n=3), tuple(parts))
    first, second = mix(parts, 2, bias=flambeau.ones(2).double())
    wanted = sum(2 * p.detach().numpy() for p in parts) + 1
    np.testing.assert_allclose(first.detach().numpy(), wanted)
    assert second.requires_grad


def test_list_result() -> None:
    @custom_op("mylib::halves", mutates_args=())
    def halves(x: Tensor) -> list[Tensor]:
        return [part.clone() for part in x.chunk(2)]

    halves.register_autograd(lambda ctx, grads: flambeau.cat(grads))
    x = flambeau.randn(4, dtype=flambeau.float64, requires_grad=True)
    assert isinstance(halves(x), list)
    assert gradcheck(lambda a: tuple(halves(a)), (x,))


def test_mutation() -> None:
    @custom_op("mylib::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.numpy()[...] = value

    x = flambeau.zeros(3)
    before = x._version
    assert fill(x, 2) is None
    assert x.tolist() == [2, 2, 2]
    assert x._version > before
    with pytest.raises(RuntimeError, match="'x' requires grad and would be changed in place"):
        fill(flambeau.zeros(3, requires_grad=True), 2)
    with pytest.raises(RuntimeError, match="mylib::fill: an operator that changes its arguments"):
        fill.register_autograd(lambda ctx: None)


def test_undeclared_mutation_and_shared_memory() -> None:
    @custom_op("mylib::sneaky", mutates_args=())
    def sneaky(x: Tensor) -> Tensor:
        return x.add_(1).clone()

    @custom_op("mylib::alias", mutates_args=())
    def alias(x: Tensor) -> Tensor:
        return x[1:]

    with pytest.raises(RuntimeError, match="changed the argument 'x', which mutates_args does not"):
        sneaky(flambeau.ones(2))
    with pytest.raises(RuntimeError, match="a result shares memory with the argument 'x'"):
        alias(flambeau.ones(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda op: op([1.0]), "mylib::cube: argument 'x' must be Tensor, got list\\[float\\]"),
        (lambda op: op(None), "argument 'x' must be Tensor, got None"),
        (lambda op: op(), "mylib::cube: missing a required argument: 'x'"),
        (lambda op: op(flambeau.ones(1), 2), "mylib::cube: too many positional arguments"),
    ],
)
def test_wrong_arguments(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(make_cube())


def test_wrong_result() -> None:
    @custom_op("mylib::number", mutates_args=())
    def number(x: Tensor) -> Tensor:
        return 3  # type: ignore[return-value]

    with pytest.raises(TypeError, match="mylib::number: the kernel must return Tensor, got int"):
        number(flambeau.ones(1))


def test_wrong_definitions() -> None:
    def unannotated(x, y: int):  # type: ignore[no-untyped-def]
        return x

    def strange(x: dict[str, int]) -> Tensor:
        return flambeau.ones(1)

    def fine(x: Tensor) -> Tensor:
        return x.clone()

    for function, arguments, message in (
        (fine, ("cube", ()), "the name must be 'namespace::name', got 'cube'"),
        (unannotated, ("m::f", ()), "m::f: the parameter 'x' has no annotation"),
        (strange, ("m::f", ()), "m::f: the parameter 'x' has the annotation"),
        (fine, ("m::f", ("y",)), "m::f: mutates_args names 'y', which is no tensor parameter"),
    ):
        name, mutated = arguments
        with pytest.raises(ValueError, match=message):
            custom_op(name, function, mutates_args=mutated)


def test_registration_by_name() -> None:
    @custom_op("mylib::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    library.register_autograd("mylib::twice", lambda ctx, grad: 2 * grad)
    library.register_fake("mylib::twice", lambda x: flambeau.empty_like(x))
    library.register_kernel("mylib::twice", "cpu", lambda x: x + x)
    x = flambeau.ones(2, requires_grad=True)
    twice(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]
    with pytest.raises(ValueError, match="there is no custom operator 'mylib::thrice'"):
        library.register_fake("mylib::thrice")
