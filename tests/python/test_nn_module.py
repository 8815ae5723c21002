"""Modules: registration, walking, state, hooks, containers."""

from __future__ import annotations

import copy
import functools
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(2))
        self.register_buffer("count", flambeau.zeros(1))
        self.register_buffer("scratch", flambeau.zeros(1), persistent=False)
        self.inner = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x * self.weight)


def test_registration_by_assignment() -> None:
    block = Block()
    assert [n for n, _ in block.named_parameters()] == ["weight", "inner.weight", "inner.bias"]
    assert [n for n, _ in block.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in block.named_modules()] == ["", "inner"]
    block.weight = None
    assert [n for n, _ in block.named_parameters()] == ["inner.weight", "inner.bias"]
    block.inner = nn.Identity()
    assert not list(block.parameters())
    del block.inner
    assert not list(block.children())
    with pytest.raises(AttributeError, match="inner"):
        _ = block.inner


def test_wrong_assignments() -> None:
    block = Block()
    with pytest.raises(TypeError, match="weight"):
        block.weight = flambeau.ones(2)
    with pytest.raises(TypeError, match="inner"):
        block.inner = 3
    with pytest.raises(KeyError, match="already"):
        block.register_parameter("forward", nn.Parameter(flambeau.ones(1)))
    with pytest.raises(KeyError, match="hold"):
        block.add_module("a.b", nn.Identity())

    class Early(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(flambeau.ones(1))

    with pytest.raises(AttributeError, match="before"):
        Early()


def test_shared_parameters_come_once() -> None:
    first = nn.Linear(2, 2)
    second = nn.Linear(2, 2)
    second.weight = first.weight
    pair = nn.Sequential(first, second)
    assert len(list(pair.parameters())) == 3
    assert len(list(pair.named_parameters(remove_duplicate=False))) == 4


def test_state_dict_round_trip() -> None:
    source, target = Block(), Block()
    with flambeau.no_grad():
        source.weight.fill_(5)
    state = source.state_dict()
    assert list(state) == ["weight", "count", "inner.weight", "inner.bias"]
    assert target.load_state_dict(state) == ([], [])
    np.testing.assert_array_equal(target.weight.detach().numpy(), [5, 5])
    np.testing.assert_array_equal(
        target.inner.weight.detach().numpy(), source.inner.weight.detach().numpy()
    )


def test_state_dict_mismatches_are_listed() -> None:
    block = Block()
    state = block.state_dict()
    state["surplus"] = flambeau.ones(1)
    del state["count"]
    state["weight"] = flambeau.ones(3)
    with pytest.raises(RuntimeError, match=r"(?s)count.*surplus.*weight"):
        block.load_state_dict(state)
    del state["weight"]
    result = block.load_state_dict(state, strict=False)
    assert result.missing_keys == ["weight", "count"]
    assert result.unexpected_keys == ["surplus"]
    whole = block.load_state_dict(block.state_dict())
    assert repr(whole) == "<All keys matched successfully>"


def test_modes_and_gradients() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    assert not model.eval()[1].training
    assert model.train()[1].training
    model[0](flambeau.ones(1, 2)).sum().backward()
    assert model[0].weight.grad is not None
    model.zero_grad()
    assert model[0].weight.grad is None
    model.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())


def test_conversion_keeps_parameters() -> None:
    block = Block()
    weight = block.weight
    block.double()
    assert block.weight is weight
    assert weight.dtype == flambeau.float64
    assert block.count.dtype == flambeau.float64
    assert block.to(flambeau.float32).inner.weight.dtype == flambeau.float32
    with pytest.raises(TypeError, match="floating"):
        block.to(flambeau.int64)


def test_apply_visits_children_first() -> None:
    seen: list[str] = []
    nn.Sequential(nn.ReLU(), nn.Tanh()).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["ReLU", "Tanh", "Sequential"]


def test_forward_hooks() -> None:
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
    after = layer.register_forward_hook(lambda module, inputs, output: output * 10)
    assert layer(flambeau.ones(1)).item() == 20
    before.remove()
    assert layer(flambeau.ones(1)).item() == 10
    after.remove()
    assert layer(flambeau.ones(1)).item() == 1


def test_hooks_with_keywords() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Tensor, factor: float = 1.0) -> Tensor:
            return x * factor

    layer = Scaled()
    layer.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"factor": kwargs["factor"] * 2}), with_kwargs=True
    )
    assert layer(flambeau.ones(1), factor=3.0).item() == 6


def test_full_backward_hook() -> None:
    layer = nn.Linear(2, 1, bias=False)
    with flambeau.no_grad():
        layer.weight.copy_(flambeau.tensor([[2.0, 3.0]]))
    seen: list[Any] = []

    def hook(module: nn.Module, grad_input: Any, grad_output: Any) -> Any:
        seen.append((module, grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    handle = layer.register_full_backward_hook(hook)
    x = flambeau.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [(layer, [[2.0, 3.0]], [[1.0]])]
    assert x.grad is not None
    assert x.grad.tolist() == [[20.0, 30.0]]
    handle.remove()
    layer(x).sum().backward()
    assert len(seen) == 1


def test_backward_hook_without_gradient_of_the_input() -> None:
    layer = nn.Linear(2, 1)
    seen: list[Any] = []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    layer(flambeau.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]


def test_copies_and_pickles() -> None:
    block = Block()
    for clone in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert clone.weight is not block.weight
        assert isinstance(clone.weight, nn.Parameter)
        x = flambeau.randn(3, 2)
        np.testing.assert_array_equal(clone(x).detach().numpy(), block(x).detach().numpy())
        with flambeau.no_grad():
            clone.weight.zero_()
        assert block.weight.tolist() == [1, 1]


class Counting(nn.Module):
    """Has a function that belongs to the instance, which copies make anew."""

    def __init__(self) -> None:
        super().__init__()
        self.count = flambeau.zeros(1)
        self.update = functools.partial(type(self).add, self)

    def add(self) -> None:
        self.count += 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "update"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.update = functools.partial(type(self).add, self)


def test_copies_are_made_of_the_state() -> None:
    first = Counting()
    for other in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        other.update()
        assert (first.count.item(), other.count.item()) == (0, 1)
    twice = copy.deepcopy([first, first])
    assert twice[0] is twice[1]
    hooked = nn.Linear(1, 1)
    hooked.register_forward_hook(lambda module, given, result: result * 0)
    assert copy.deepcopy(hooked)(flambeau.ones(1)).item() == 0


def test_printing() -> None:
    model = nn.Sequential(OrderedDict(first=nn.Linear(2, 3), rest=nn.Sequential(nn.ReLU())))
    assert repr(model) == (
        "Sequential(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (rest): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )


def test_lookup_by_dotted_name() -> None:
    block = Block()
    assert block.get_submodule("inner") is block.inner
    assert block.get_parameter("inner.bias") is block.inner.bias
    assert block.get_buffer("count") is block.count
    with pytest.raises(AttributeError, match="nosuch"):
        block.get_submodule("inner.nosuch")


# --- containers ---


def test_sequential() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(model) == 3
    assert isinstance(model[-1], nn.Linear)
    assert len(model[:2]) == 2
    model[1] = nn.Tanh()
    del model[0]
    assert list(model._modules) == ["0", "1"]
    model.append(nn.ReLU()).insert(0, nn.Identity()).extend([nn.Tanh()])
    assert [type(m).__name__ for m in model] == ["Identity", "Tanh", "Linear", "ReLU", "Tanh"]
    assert isinstance(model.pop(0), nn.Identity)
    assert len(model + nn.Sequential(nn.ReLU())) == 5
    with pytest.raises(IndexError):
        model[9]


def test_a_removal_numbers_all_modules() -> None:
    model = nn.Sequential(OrderedDict(a=nn.Linear(1, 2), b=nn.Linear(2, 3), c=nn.Linear(3, 1)))
    del model[0]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_parameters_are_shown_in_containers() -> None:
    made = nn.ParameterDict({"x": nn.Parameter(flambeau.ones(2, 3))})
    shown = "Parameter containing: [flambeau.FloatTensor of size 2x3]"
    assert repr(made) == f"ParameterDict(  (x): {shown})"
    made["y"] = nn.Parameter(flambeau.ones(1))
    assert repr(made).splitlines()[1].strip() == f"(x): {shown}"


def test_module_list() -> None:
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    assert len(list(layers.parameters())) == 6
    layers.insert(1, nn.ReLU())
    layers += [nn.Tanh()]
    del layers[0]
    assert [type(m).__name__ for m in layers] == ["ReLU", "Linear", "Linear", "Tanh"]
    assert len(layers[1:3]) == 2
    with pytest.raises(NotImplementedError):
        layers(flambeau.ones(1))


def test_module_dict() -> None:
    layers = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    layers["c"] = nn.Tanh()
    assert list(layers) == ["a", "b", "c"]
    assert "b" in layers
    assert isinstance(layers.pop("a"), nn.ReLU)
    assert len(list(layers.parameters())) == 2


def test_parameter_containers() -> None:
    listed = nn.ParameterList([flambeau.ones(2), nn.Parameter(flambeau.zeros(1))])
    assert [n for n, _ in listed.named_parameters()] == ["0", "1"]
    assert isinstance(listed[0], nn.Parameter)
    listed.append(flambeau.ones(3))
    assert len(listed) == 3
    assert "Parameter containing" in repr(listed)
    named = nn.ParameterDict({"w": flambeau.ones(2)})
    named["b"] = nn.Parameter(flambeau.zeros(1))
    assert sorted(n for n, _ in named.named_parameters()) == ["b", "w"]
    assert named.pop("w").tolist() == [1, 1]
    assert "w" not in named


def test_printing_of_lists() -> None:
    layers = nn.ModuleList([nn.Tanh(), nn.Linear(2, 2), nn.Linear(2, 2), nn.ModuleList()])
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0): Tanh()\n"
        "  (1-2): 2 x Linear(in_features=2, out_features=2, bias=True)\n"
        "  (3): ModuleList()\n"
        ")"
    )


def test_printing_of_parameters() -> None:
    assert repr(nn.Parameter(flambeau.ones(1))) == (
        "Parameter containing:\ntensor([1.], requires_grad=True)"
    )
    assert repr(nn.Buffer(flambeau.ones(1))) == "tensor([1.])"


def test_modules_of_layers() -> None:
    from flambeau.nn.modules.batchnorm import _BatchNorm
    from flambeau.nn.modules.conv import _ConvNd

    assert issubclass(nn.BatchNorm2d, _BatchNorm)
    assert issubclass(nn.ConvTranspose1d, _ConvNd)
    assert nn.modules.linear.Linear is nn.Linear
