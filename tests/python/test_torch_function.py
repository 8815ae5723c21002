"""Functions that classes and modes take over."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn, overrides
from flambeau.nn import functional

DISABLED = flambeau._C._disabled_torch_function_impl
Calls = list[tuple[str | None, tuple[Any, ...]]]


class Plain(Tensor):
    """A subclass with the protocol that all have."""


class Deeper(Plain):
    """A subclass of that one."""


class Recorded(Tensor):
    """Notes what it is asked."""

    calls: ClassVar[Calls] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((overrides.resolve_name(func), tuple(type(a) for a in args)))
        return super().__torch_function__(func, types, args, kwargs)  # type: ignore[misc]


class Symbol:
    """No tensor: functions of it are texts."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return Symbol(f"{overrides.resolve_name(func)}{len(args)}{sorted(kwargs)}")


def asked(call: Any) -> list[str | None]:
    Recorded.calls.clear()
    call()
    return [name for name, _ in Recorded.calls]


def test_results_of_subclasses_are_instances() -> None:
    x = flambeau.arange(6.0).reshape(2, 3).as_subclass(Plain)
    for result in (x + 1, 1 - x, x.sum(), x[0], x.T, -x, flambeau.cat([x, x]), functional.relu(x)):
        assert type(result) is Plain
    assert type(x.shape) is flambeau.Size
    values, indices = x.max(0)
    assert type(values) is type(indices) is Plain
    assert all(type(part) is Plain for part in x.unbind())
    assert type(x.tolist()) is list
    assert type(x.float()) is type(x.to(flambeau.float64)) is type(x.detach()) is Plain
    np.testing.assert_array_equal((x * 2).numpy(), np.arange(6.0).reshape(2, 3) * 2)


def test_the_deepest_class_is_the_one_of_the_result() -> None:
    x, y = flambeau.ones(2).as_subclass(Plain), flambeau.ones(2).as_subclass(Deeper)
    assert type(x + y) is type(y + x) is Deeper
    assert type(flambeau.ones(2) + x) is Plain


def test_classes_that_know_nothing_of_each_other() -> None:
    x, y = flambeau.ones(2).as_subclass(Plain), flambeau.ones(2).as_subclass(Recorded)
    with pytest.raises(TypeError, match=r"no implementation of .*add.*returned NotImplemented"):
        x + y


def test_gradients_flow_through_subclasses() -> None:
    leaf = flambeau.ones(3, requires_grad=True)
    (leaf.as_subclass(Plain) ** 2).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [2.0, 2.0, 2.0]
    assert type(leaf.grad) is Tensor


def test_parameters_are_left_alone() -> None:
    p = nn.Parameter(flambeau.ones(2))
    assert type(p + 1) is Tensor
    assert not overrides.has_torch_function((p, flambeau.ones(2)))
    assert overrides.has_torch_function_unary(flambeau.ones(2).as_subclass(Plain))

    class Own(Plain):
        __torch_function__ = DISABLED

    assert type(flambeau.ones(2).as_subclass(Own) + 1) is Tensor


def test_what_is_asked() -> None:
    x = flambeau.ones(2, 2).as_subclass(Recorded)
    expected = {
        "torch.Tensor.add": lambda: x + 1,
        "torch.Tensor.__rsub__": lambda: 1 - x,
        "torch.Tensor.add_": lambda: x.add_(1),
        "torch.Tensor.matmul": lambda: x @ x,
        "torch.Tensor.lt": lambda: x < 1,
        "torch.Tensor.__getitem__": lambda: x[0, :1],
        "torch.Tensor.__setitem__": lambda: x.__setitem__(0, 1.0),
        "torch.Tensor.shape.__get__": lambda: x.shape,
        "torch.Tensor.requires_grad.__set__": lambda: setattr(x, "requires_grad", False),
        "torch.Tensor.dim": lambda: x.dim(),
        "torch.Tensor.size": lambda: x.size(0),
        "torch.Tensor.numpy": lambda: x.numpy(),
        "torch.Tensor.__len__": lambda: len(x),
        "torch.Tensor.type_as": lambda: x.type_as(x),
        "torch.Tensor.double": lambda: x.double(),
        "torch.Tensor.__repr__": lambda: repr(x),
        "torch.sum": lambda: flambeau.sum(x),
        "torch.stack": lambda: flambeau.stack([x, x]),
        "torch.nn.functional.silu": lambda: functional.silu(x),
        "torch.linalg.det": lambda: flambeau.linalg.det(x),
    }
    for name, call in expected.items():
        found = [n or "torch.Tensor.__repr__" for n in asked(call)]
        assert found == [name]


def test_keys_and_values_are_asked() -> None:
    base, index = flambeau.ones(3), flambeau.tensor([1]).as_subclass(Recorded)
    assert asked(lambda: base[index]) == ["torch.Tensor.__getitem__"]
    assert asked(lambda: base[index, ...]) == ["torch.Tensor.__getitem__"]
    value = flambeau.ones(1).as_subclass(Recorded)
    assert asked(lambda: base.__setitem__(0, value)) == ["torch.Tensor.__setitem__"]
    assert asked(lambda: flambeau.where(base > 0, base, value)) == ["torch.where"]


def test_objects_that_are_no_tensors() -> None:
    one, x = Symbol("x"), flambeau.ones(2)
    assert flambeau.add(one, 1).text == "torch.add2[]"
    assert (x + one).text == "torch.Tensor.add2[]"
    assert x.add(one, alpha=2).text == "torch.Tensor.add2['alpha']"
    assert flambeau.cat([x, one], dim=0).text == "torch.cat1['dim']"
    assert functional.linear(x, one).text == "torch.nn.functional.linear2[]"
    assert overrides.is_tensor_like(one)
    assert not overrides.is_tensor_like(3)
    with pytest.raises(TypeError, match="must be Tensor"):
        flambeau.relu(object())


class Counting(overrides.TorchFunctionMode):
    def __init__(self) -> None:
        self.names: list[str | None] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))


def test_modes_are_asked_of_every_function() -> None:
    x = flambeau.ones(2)
    with Counting() as outer:
        flambeau.ones(2)
        with Counting() as inner:
            x + 1
            assert x.shape == (2,)
            flambeau.tensor(1.0)
    assert inner.names == ["torch.Tensor.add", "torch.Tensor.shape.__get__", "torch.tensor"]
    assert outer.names == ["torch.ones", *inner.names]
    x + 1
    assert len(outer.names) == 4


def test_a_mode_is_off_while_it_is_asked_and_after_an_exception() -> None:
    class Doubling(overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **kwargs) * 2

    with Doubling():
        doubled = flambeau.ones(())
    assert doubled.item() == 2.0
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        flambeau.ones(2)
    assert flambeau.ones(()).item() == 1.0


class Half(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x / 2


def test_functions_with_a_derivative_of_their_own() -> None:
    x = flambeau.ones(2)
    with Counting():
        assert Half.apply(x).tolist() == [0.5, 0.5]
    assert Half.apply(x.as_subclass(Plain)).tolist() == [0.5, 0.5]


def test_switching_it_off() -> None:
    x = flambeau.ones(2).as_subclass(Recorded)
    with Counting() as mode, flambeau._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is Tensor
    assert mode.names == ["torch.Tensor.add"]
    with Counting() as mode, flambeau._C.DisableTorchFunction():
        assert type(x + 1) is Tensor
    assert mode.names == []
    assert type(x + 1) is Recorded


def test_functions_of_ones_own() -> None:
    @overrides.wrap_torch_function(lambda a, b=1: (a,))
    def scaled(a: Any, b: int = 1) -> Any:
        return a * b

    assert scaled(flambeau.ones(()), b=3).item() == 3.0
    assert scaled(Symbol("x"), b=3).text == "None1['b']"
    with pytest.raises(TypeError, match="no argument has a __torch_function__"):
        overrides.handle_torch_function(scaled, (1,), 1)


def test_what_there_is_to_take_over() -> None:
    found = overrides.get_overridable_functions()
    assert flambeau.add in found[flambeau]
    assert Tensor.add in found[Tensor]
    assert overrides.resolve_name(flambeau.linalg.det) == "torch.linalg.det"
    assert overrides.resolve_name(Tensor.grad.__get__) == "torch.Tensor.grad.__get__"
    assert overrides.resolve_name(print) is None
    assert overrides.is_tensor_method_or_property(Tensor.add)
    assert not overrides.is_tensor_method_or_property(flambeau.add)
    assert Tensor.grad.__get__ in overrides.get_default_nowrap_functions()


def test_iterators_of_tensors_are_read_once() -> None:
    model = flambeau.nn.Linear(2, 1)
    loss = model(flambeau.ones(3, 2)).sum()
    weight, bias = flambeau.autograd.grad(loss, model.parameters(), retain_graph=True)
    assert weight.tolist() == [[3.0, 3.0]]
    assert bias.tolist() == [3.0]
    flambeau.autograd.backward(iter([loss]))
    assert model.bias.grad.tolist() == [3.0]


def test_as_subclass_gives_the_class_that_was_asked_for() -> None:
    class Mine(Tensor):
        pass

    mine = flambeau.ones(2).as_subclass(Mine)
    assert type(mine) is Mine and type(mine + 1) is Mine
    assert type(mine.as_subclass(Tensor)) is Tensor
    assert hash(mine) == id(mine)
