"""`__torch_dispatch__`: modes and classes that see operators below autograd."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional
from flambeau.utils._python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
)


class Names(TorchDispatchMode):
    """Notes what is called, and whether arguments require grad."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.with_grad: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        if flambeau.is_grad_enabled() and any(
            isinstance(a, Tensor) and a.requires_grad for a in args
        ):
            self.with_grad.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_see_operators_in_order() -> None:
    x = flambeau.ones(2, 3)
    with Names() as seen:
        y = (x + 1).exp().sum()
        x.t().mul_(2)
        flambeau.add(x, x, out=flambeau.empty(2, 3))
    x + 1  # the mode is off
    assert seen.names == ["add", "exp", "sum", "t", "mul_", "empty", "add"] or seen.names == [
        "add",
        "exp",
        "sum",
        "transpose",
        "mul_",
        "empty",
        "add",
    ]
    assert y.item() == pytest.approx(6 * np.exp(2), rel=1e-6)


def test_modes_see_what_others_are_composed_of_and_gradients() -> None:
    x = flambeau.randn(4, 3, requires_grad=True)
    with Names() as forward:
        loss = functional.cross_entropy(x, flambeau.eye(3)[[0, 1, 2, 0]])
    assert "log_softmax" in " ".join(forward.names)
    assert "cross_entropy" not in forward.names  # it is composed
    assert not forward.with_grad
    with Names() as backward:
        loss.backward()
    assert backward.names
    wanted = functional.softmax(x.detach(), 1)
    wanted[range(4), [0, 1, 2, 0]] -= 1
    np.testing.assert_allclose(x.grad.numpy(), wanted.numpy() / 4, atol=1e-6)


class Doubled(TorchDispatchMode):
    """What exp gives is twice as much."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 2 if func.overloadpacket.__name__ in ("exp", "exp_") else result


def test_results_of_modes_take_the_place_of_the_operators() -> None:
    x = flambeau.zeros(3, requires_grad=True)
    with Doubled():
        y = x.exp()
        z = flambeau.zeros(3).exp()
    assert y.tolist() == z.tolist() == [2.0] * 3
    y.sum().backward()  # of exp: what it saved is its result
    assert x.grad.tolist() == [2.0] * 3


def test_modes_nest_and_leave_when_something_is_raised() -> None:
    with Names() as outer, Names() as inner:
        assert _get_current_dispatch_mode() is inner
        flambeau.ones(2).sin()
        with _disable_current_modes() as off:
            assert off == [outer, inner]
            flambeau.ones(2).cos()
    assert outer.names == inner.names and "sin" in inner.names and "cos" not in inner.names

    class Failing(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise ValueError(f"no {func.overloadpacket.__name__}")

    x = flambeau.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no sin"), Failing():
        x.sin()
    assert _get_current_dispatch_mode() is None
    assert x.sin().requires_grad

    class Wrong(TorchDispatchMode):
        def __init__(self, result: Any) -> None:
            self.result = result

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return self.result

    with pytest.raises(TypeError, match="sin must return tensors, got str"), Wrong("text"):
        flambeau.sin(x)
    with pytest.raises(TypeError, match=r"sin.*must return 1 tensor, got 2"), Wrong((x, x)):
        flambeau.sin(x)
    with pytest.raises(TypeError, match=r"sort.*must return 2 tensors, got 1"), Wrong(x):
        flambeau.sort(x)
    with BaseTorchDispatchMode():
        np.testing.assert_allclose(x.sin().detach().numpy(), np.sin([1.0, 1.0]), rtol=1e-6)


def test_modes_are_of_a_thread() -> None:
    with Names() as seen:
        worker = threading.Thread(target=lambda: flambeau.ones(2).sin())
        worker.start()
        worker.join()
    assert "sin" not in seen.names


class Counted(Tensor):
    """Holds a tensor; operators of instances are counted, and give instances."""

    inner: Tensor
    calls: ClassVar[list[str]] = []
    __torch_function__ = flambeau._C._disabled_torch_function_impl

    @staticmethod
    def of(inner: Tensor, requires_grad: bool = False) -> Counted:
        made = Tensor._make_wrapper_subclass(
            Counted, inner.shape, inner.stride(), dtype=inner.dtype, requires_grad=requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func.overloadpacket.__name__)

        def plain(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [plain(v) for v in value]
            return value.inner if isinstance(value, Counted) else value

        found = func(*plain(args), **{n: plain(v) for n, v in (kwargs or {}).items()})
        return cls.of(found) if isinstance(found, Tensor) else found


def test_classes_see_operators_of_their_instances() -> None:
    Counted.calls.clear()
    x = Counted.of(flambeau.full((2, 3), 2.0), requires_grad=True)
    y = (x * x + 1).sum(0)
    assert isinstance(y, Counted) and tuple(y.shape) == (3,)
    assert y.inner.tolist() == [10.0] * 3
    assert {"mul", "add", "sum"} <= set(Counted.calls)
    (grad,) = flambeau.autograd.grad(y, x, Counted.of(flambeau.ones(3)))
    assert isinstance(grad, Counted)
    assert grad.inner.tolist() == [[4.0] * 3] * 2
    for times in (1, 2):
        (x * x).sum().backward()
        assert isinstance(x.grad, Counted)
        assert x.grad.inner.tolist() == [[4.0 * times] * 3] * 2


def test_others_are_not_asked() -> None:
    Counted.calls.clear()
    assert (flambeau.ones(2) + 1).tolist() == [2.0, 2.0]
    assert Counted.calls == []


def test_tensors_without_data_are_what_they_were() -> None:
    """Once a class is defined, too, whose instances have no elements either."""
    w = flambeau.ones(3, device="meta", requires_grad=True)
    y = w * 1
    y[0] = y[1] * 2
    y.sum().backward()
    assert w.grad.is_meta and tuple(w.grad.shape) == (3,)


def test_offsets_of_wrappers_are_refused_whatever_they_are() -> None:
    offset: list[Any] = []
    for _ in range(100_000):
        offset = [offset]
    with pytest.raises(ValueError, match=r"_make_wrapper_subclass\(\): storage_offset must be 0"):
        Tensor._make_wrapper_subclass(Counted, (2,), None, offset)


@pytest.mark.parametrize("numbers", [(range(2**62),), ((2,), range(2**62))])
def test_wrappers_of_more_dims_than_fit_are_refused(numbers: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="4611686018427387904 elements of a range do not fit"):
        Tensor._make_wrapper_subclass(Counted, *numbers)


def test_custom_operators_are_seen_as_one() -> None:
    @flambeau.library.custom_op("dispatched::squares", mutates_args=())
    def squares(x: Tensor, *, times: int = 1) -> Tensor:
        return times * x * x

    def keep(ctx: Any, inputs: Any, keywords: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 2 * ctx.saved_tensors[0] * grad

    squares.register_autograd(backward, setup_context=keep)
    x = flambeau.tensor([3.0], requires_grad=True)
    with Names() as seen:
        y = squares(x)
        assert seen.names == ["squares"]  # and nothing of what the kernel calls
        y.backward()
    assert seen.names.count("mul") == 2
    assert (y.item(), x.grad.item()) == (9.0, 6.0)
    operator = flambeau.ops.dispatched.squares.default
    assert (str(operator), operator.name()) == ("dispatched.squares.default", "dispatched::squares")
    assert [a.name for a in operator._schema.arguments] == ["x", "times"]

    class Hundredfold(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            assert func is operator
            return func(*args, **kwargs) * 100

    with Hundredfold():
        y = squares(x, times=2)
    assert y.item() == 1800.0 and y.requires_grad


def test_classes_see_custom_operators() -> None:
    @flambeau.library.custom_op("dispatched::halves", mutates_args=())
    def halves(x: Tensor) -> Tensor:
        return x / 2

    class Seen(Tensor):
        names: ClassVar[list[str]] = []

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            cls.names.append(str(func))
            return func(*(a.as_subclass(Tensor) for a in args), **(kwargs or {}))

    assert halves(flambeau.ones(1).as_subclass(Seen)).item() == 0.5
    assert "dispatched.halves.default" in Seen.names


def test_classes_say_of_which_class_results_are() -> None:
    class Unwrapping(flambeau.Tensor):
        inside: flambeau.Tensor

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            plain = [a.inside if isinstance(a, Unwrapping) else a for a in args]
            return func(*plain, **(kwargs or {}))

    x = flambeau.Tensor._make_wrapper_subclass(Unwrapping, (2,))
    x.inside = flambeau.ones(2)
    assert type(x + 1) is flambeau.Tensor and (x + 1).tolist() == [2, 2]
    assert not flambeau.overrides.has_torch_function((x,))
