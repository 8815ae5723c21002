"""Operators that are defined by texts and get kernels one by one, and what `opcheck` finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, _custom_op, library
from flambeau.library import Library, OpCheckError, custom_op, impl, infer_schema, opcheck
from flambeau.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    known = dict(_custom_op._registered)
    yield
    _custom_op._registered.clear()
    _custom_op._registered.update(known)


def sine() -> tuple[Library, Any]:
    lib = Library("texts", "DEF")
    assert lib.define("sine(Tensor x, float scale=2.0) -> Tensor") == "sine"
    return lib, flambeau.ops.texts.sine


def numpy_sine(x: Tensor, scale: float) -> Tensor:
    return flambeau.from_numpy(scale * np.sin(x.detach().numpy()))


def test_kernels_by_device() -> None:
    lib, op = sine()
    x = flambeau.tensor([0.5, 1.0])
    with pytest.raises(
        NotImplementedError, match="no kernel for device cpu; it has kernels for no"
    ):
        op(x)
    lib.impl("sine", numpy_sine, "CPU")
    np.testing.assert_allclose(op(x).numpy(), 2 * np.sin([0.5, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(op.default(x, scale=3.0).numpy(), 3 * np.sin([0.5, 1.0]), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="no kernel for device meta"):
        op(x.to("meta"))

    @impl(lib, "sine", "Meta")
    def _shape(x: Tensor, scale: float) -> Tensor:
        return flambeau.empty_like(x)

    assert op(x.to("meta")).shape == (2,)
    with pytest.raises(ValueError, match="texts::sine: a dispatch key must be CPU, CUDA"):
        lib.impl("sine", numpy_sine, "Quantized")
    with pytest.raises(ValueError, match="there is no custom operator 'texts::cosine'"):
        lib.impl("cosine", numpy_sine)


def test_gradients_of_what_is_defined_by_text() -> None:
    lib, op = sine()
    lib.impl("sine", numpy_sine)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.scale * ctx.saved_tensors[0].cos(), None

    library.register_autograd("texts::sine", backward, setup_context=setup, lib=lib)
    x = flambeau.randn(4, dtype=flambeau.float64, requires_grad=True)
    assert flambeau.autograd.gradcheck(lambda x: op(x, 1.5), (x,))


def test_compositions_are_recorded() -> None:
    lib, op = sine()
    lib.impl("sine", lambda x, scale=2.0: x.sin() * scale, "CompositeImplicitAutograd")
    x = flambeau.tensor([0.3], dtype=flambeau.float64, requires_grad=True)
    op(x).backward()
    assert x.grad.item() == pytest.approx(2 * np.cos(0.3), rel=1e-12)


def test_a_function_for_gradients() -> None:
    """What libraries register for "Autograd": a Function whose forward calls the kernel."""
    lib, op = sine()
    lib.impl("sine", numpy_sine, "CPU")

    class Recorded(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, scale: float) -> Any:
            ctx.save_for_backward(x)
            ctx.scale = scale
            with flambeau._C._AutoDispatchBelowAutograd():
                return flambeau.ops.texts.sine(x, scale)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return grad * ctx.scale * ctx.saved_tensors[0].cos(), None

    lib.impl("sine", lambda x, scale=2.0: Recorded.apply(x, scale), "Autograd")
    x = flambeau.tensor([0.3], dtype=flambeau.float64, requires_grad=True)
    op(x, 3.0).backward()
    assert x.grad.item() == pytest.approx(3 * np.cos(0.3), rel=1e-12)
    assert not op(x.detach()).requires_grad


def test_names_outside_libraries() -> None:
    library.define("texts::shifted", "(Tensor x, int[] by) -> Tensor")
    impl("texts::shifted", ("cpu", "meta"), lambda x, by: x.roll(by[0]))
    assert flambeau.ops.texts.shifted(flambeau.arange(3), [1]).tolist() == [2, 0, 1]
    with library._scoped_library("passing", "FRAGMENT") as lib:
        lib.define("one(Tensor x) -> Tensor")
        assert flambeau.ops.passing.one is not None
    with pytest.raises(AttributeError, match="there is no custom operator 'passing::"):
        _ = flambeau.ops.passing
    with pytest.raises(ValueError, match="the name must be 'namespace::name', got 'plain'"):
        library.define("plain", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="without an overload"):
        Library("texts", "DEF").define("a.out(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="defines no operators"):
        Library("texts", "IMPL").define("a(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="kind must be one of DEF, IMPL, FRAGMENT, got 'NEW'"):
        Library("texts", "NEW")
    with pytest.raises(AttributeError, match=r"library.triton_op is not available: kernels are"):
        _ = library.triton_op


def test_slices() -> None:
    calls = []

    @custom_op("texts::dots", mutates_args=())
    def dots(x: Tensor, ys: list[Tensor], power: int) -> Tensor:
        calls.append(x.shape)
        return flambeau.from_numpy(sum(x.numpy() * y.numpy() for y in ys) ** power)

    @dots.register_vmap
    def _slices(info: Any, in_dims: Any, x: Tensor, ys: Any, power: int) -> Any:
        assert info.batch_size == 3 and in_dims == (0, [None, 0], None)
        return dots(x, [y.expand(x.shape) for y in ys], power), 0

    rng = np.random.default_rng(0)
    x, y, z = (flambeau.tensor(rng.normal(size=s)) for s in ((3, 4), (4,), (4, 3)))
    found = flambeau.vmap(lambda x, z: dots(x, [y, z], 2), in_dims=(0, 1))(x, z)
    expected = (x.numpy() * y.numpy() + x.numpy() * z.numpy().T) ** 2
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    assert calls == [(3, 4)]


def test_autocast() -> None:
    seen = []

    @custom_op("texts::both", mutates_args=())
    def both(x: Tensor, y: Tensor, n: Tensor) -> Tensor:
        seen.append((x.dtype, y.dtype, n.dtype, flambeau.is_autocast_enabled("cpu")))
        return x * 2

    library.register_autocast("texts::both", "cpu", flambeau.bfloat16)
    x, y, n = flambeau.ones(2), flambeau.ones(2, dtype=flambeau.float64), flambeau.arange(2)
    both(x, y, n)
    with flambeau.autocast("cpu"):
        assert both(x, y, n).dtype == flambeau.bfloat16
    assert seen == [
        (flambeau.float32, flambeau.float64, flambeau.int64, False),
        (flambeau.bfloat16, flambeau.float64, flambeau.int64, False),
    ]


def test_schemas_of_annotations() -> None:
    def many(
        x: Tensor,
        y: Tensor | None,
        ts: list[Tensor],
        sizes: Sequence[int],
        n: int = 3,
        *,
        p: float = 0.5,
        s: str = "a",
        d: flambeau.dtype | None = None,
        b: bool = True,
    ) -> tuple[Tensor, Tensor]:
        raise AssertionError

    # What torch.library.infer_schema of PyTorch 2.13 gives.
    assert infer_schema(many, mutates_args=["x", "ts"], op_name="foo") == (
        "foo(Tensor(a0!) x, Tensor? y, Tensor(a2!)[] ts, SymInt[] sizes, SymInt n=3, *, "
        'float p=0.5, str s="a", ScalarType? d=None, bool b=True) -> (Tensor, Tensor)'
    )

    def nothing(x: Tensor, where: flambeau.device) -> None: ...

    assert infer_schema(nothing, mutates_args="unknown") == "(Tensor(a0!) x, Device where) -> ()"

    def number(x: Tensor) -> int:
        return 1

    assert infer_schema(number, mutates_args=()) == "(Tensor x) -> SymInt"


def test_checks() -> None:
    @custom_op("texts::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return 2 * x

    x = flambeau.randn(3, requires_grad=True)
    found = opcheck(twice, (x,), raise_exception=False)
    assert found["test_schema"] == "SUCCESS"
    assert "no gradient is known; use register_autograd" in found["test_autograd_registration"]
    assert "no kernel for device meta" in found["test_faketensor"]
    twice.register_autograd(lambda ctx, grad: 2 * grad)
    twice.register_fake(lambda x: flambeau.empty_like(x))
    assert set(opcheck("texts::twice", (x,)).values()) == {"SUCCESS"}
    twice.register_fake(lambda x: x.new_empty(4))
    with pytest.raises(OpCheckError, match=r"test_faketensor: .* has the shape .*3.* says .*4"):
        opcheck(twice, (x,))
    with pytest.raises(ValueError, match="unknown test 'test_all'"):
        opcheck(twice, (x,), test_utils="test_all")


def test_checks_of_what_kernels_write() -> None:
    @custom_op("texts::sneaky", mutates_args=())
    def sneaky(x: Tensor) -> Tensor:
        x.detach().numpy()[0] = 7  # nothing counts this
        return x.clone()

    with pytest.raises(OpCheckError, match="changed the argument 'x', which mutates_args does not"):
        opcheck(sneaky, (flambeau.ones(2),), test_utils="test_schema")
    times = []

    @custom_op("texts::counting", mutates_args=())
    def counting(x: Tensor) -> Tensor:
        times.append(1)
        return x + len(times)

    with pytest.raises(OpCheckError, match="test_aot_dispatch_dynamic: Tensors are not close"):
        opcheck(counting, (flambeau.ones(2),), test_utils="test_aot_dispatch_dynamic")

    @custom_op("texts::filled", mutates_args="unknown")
    def filled(x: Tensor, y: Tensor) -> None:
        x.fill_(1)

    assert opcheck(filled, (flambeau.zeros(2), flambeau.zeros(2)), test_utils="test_schema")


def test_rules_for_modes_and_classes() -> None:
    """A rule stands in place of a class's own __torch_dispatch__, of that class alone."""

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return func(*args, **(kwargs or {}))

    class SeenToo(Seen):
        pass

    class Tagged(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return NotImplemented

    @custom_op("texts::plus", mutates_args=())
    def plus(x: Tensor, n: int = 1) -> Tensor:
        return x + n

    @library.register_torch_dispatch("texts::plus", Seen)
    def _(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Tensor:
        assert isinstance(mode, Seen) and func is plus.default
        return 10 * func(*args, **kwargs)

    x = flambeau.ones(2, requires_grad=True)
    plus.register_autograd(lambda ctx, grad: (grad, None))
    with Seen():
        y = plus(x, 2)
    assert y.tolist() == [30, 30]
    y.sum().backward()  # a rule is below autograd
    assert x.grad is not None and x.grad.tolist() == [1, 1]
    with SeenToo():
        assert plus(x).tolist() == [2, 2]
    tagged = flambeau.ones(2).as_subclass(Tagged)
    with pytest.raises(TypeError, match="returned NotImplemented"):
        plus(tagged)
    plus.register_torch_dispatch(Tagged, lambda cls, *_: flambeau.full((1,), 5.0))
    assert plus(tagged).tolist() == [5]
    with pytest.raises(TypeError, match="expected a class with __torch_dispatch__, which modes"):
        library.register_torch_dispatch(plus, int, print)
