"""Hooks of modules: around calls, gradients, registration and state, of one module and of all."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.modules import module as everywhere


class Scaled(nn.Module):
    def __init__(self, factor: float = 2.0) -> None:
        super().__init__()
        self.factor = nn.Parameter(flambeau.tensor(factor))

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() == 0:
            raise ValueError("nothing to scale")
        return x * self.factor


@pytest.fixture
def handles() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_hook_is_called_although_the_call_failed() -> None:
    layer = Scaled()
    seen: list[Any] = []
    layer.register_forward_hook(lambda m, x, y: seen.append("usual"))
    layer.register_forward_hook(lambda m, x, y: seen.append(y), always_call=True)
    with pytest.raises(ValueError, match="nothing"):
        layer(flambeau.ones(0))
    assert seen == [None]
    layer(flambeau.ones(1))
    assert len(seen) == 3


def test_a_failing_hook_after_a_failed_call_warns() -> None:
    layer = Scaled()

    def fails(*_: Any) -> None:
        raise KeyError("hook")

    layer.register_forward_hook(fails, always_call=True)
    with pytest.warns(UserWarning, match="hook"), pytest.raises(ValueError, match="nothing"):
        layer(flambeau.ones(0))


def test_keywords_and_order() -> None:
    class Shifted(nn.Module):
        def forward(self, x: Tensor, *, by: float = 0.0) -> Tensor:
            return x + by

    layer = Shifted()
    order: list[str] = []
    layer.register_forward_pre_hook(lambda m, x: order.append("second"))
    layer.register_forward_pre_hook(lambda m, x: order.append("first"), prepend=True)
    layer.register_forward_pre_hook(lambda m, x, k: (x, {"by": k["by"] * 2}), with_kwargs=True)
    layer.register_forward_hook(lambda m, x, k, y: y * k["by"], with_kwargs=True)
    assert layer(flambeau.ones(1), by=3.0).item() == 42
    assert order == ["first", "second"]
    layer.register_forward_pre_hook(lambda m, x, k: x, with_kwargs=True)
    with pytest.raises(RuntimeError, match="keywords"):
        layer(flambeau.ones(1), by=3.0)


def test_backward_pre_hook_scales_gradients() -> None:
    layer = Scaled(3.0)
    layer.register_full_backward_pre_hook(lambda m, grad: (grad[0] * 10,))
    seen: list[float] = []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].item()))
    x = flambeau.tensor(2.0, requires_grad=True)
    layer(x).backward()
    assert x.grad is not None and layer.factor.grad is not None
    assert (x.grad.item(), layer.factor.grad.item()) == (30.0, 20.0)
    assert seen == [10.0]
    layer.register_full_backward_pre_hook(lambda m, grad: (grad[0], grad[0]))
    with pytest.raises(RuntimeError, match="2 gradients for 1 outputs"):
        layer(x).backward()


def test_former_backward_hooks_see_the_last_operation() -> None:
    layer = Scaled(3.0)
    seen: list[Any] = []
    layer.register_backward_hook(lambda m, gi, go: seen.append((m, go[0].item())))
    layer(flambeau.tensor(2.0, requires_grad=True)).backward()
    assert seen == [(layer, 1.0)]
    with pytest.raises(RuntimeError, match="one kind"):
        layer.register_full_backward_hook(lambda *_: None)


def test_hooks_of_all_modules(handles: ExitStack) -> None:
    order: list[str] = []
    model = nn.Sequential(Scaled(), nn.ReLU())

    def note(word: str) -> Any:
        return lambda module, *_: order.append(f"{word} {type(module).__name__}")

    handles.enter_context(everywhere.register_module_forward_pre_hook(note("pre")))
    handles.enter_context(everywhere.register_module_forward_hook(note("post")))
    model[0].register_forward_pre_hook(note("own"))
    model(flambeau.ones(1))
    assert order == [
        *("pre Sequential", "pre Scaled", "own Scaled", "post Scaled"),
        *("pre ReLU", "post ReLU", "post Sequential"),
    ]


def test_backward_hooks_of_all_modules(handles: ExitStack) -> None:
    seen: list[str] = []
    add = handles.enter_context
    add(everywhere.register_module_full_backward_pre_hook(lambda m, g: (g[0] * 2,)))
    add(
        everywhere.register_module_full_backward_hook(
            lambda m, gi, go: seen.append(type(m).__name__)
        )
    )
    with pytest.raises(RuntimeError, match="one kind"):
        everywhere.register_module_backward_hook(lambda *_: None)
    x = flambeau.tensor(1.0, requires_grad=True)
    Scaled(3.0)(x).backward()
    assert x.grad is not None
    assert x.grad.item() == 6.0
    assert seen == ["Scaled"]


def test_hooks_of_registration(handles: ExitStack) -> None:
    seen: list[tuple[str, str]] = []

    def note(kind: str) -> Any:
        return lambda module, name, value: seen.append((kind, name))

    for kind in ("parameter", "buffer", "module"):
        register = getattr(everywhere, f"register_module_{kind}_registration_hook")
        handles.enter_context(register(note(kind)))
    layer = nn.Module()
    layer.weight = nn.Parameter(flambeau.ones(1))
    layer.register_buffer("count", flambeau.ones(1))
    layer.inner = nn.ReLU()
    layer.count = flambeau.zeros(1)
    assert seen == [
        ("parameter", "weight"),
        ("buffer", "count"),
        ("module", "inner"),
        ("buffer", "count"),
    ]
    frozen = nn.Parameter(flambeau.zeros(1), requires_grad=False)
    handles.enter_context(
        everywhere.register_module_parameter_registration_hook(lambda m, n, p: frozen)
    )
    layer.weight = nn.Parameter(flambeau.ones(1))
    assert layer.weight is frozen


def test_hooks_around_state_dict() -> None:
    layer = nn.Sequential(Scaled())
    seen: list[Any] = []
    layer[0].register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("0.factor"))
    with pytest.raises(RuntimeError, match="None"):
        layer.state_dict()
    layer._state_dict_hooks.clear()

    def rename(module: nn.Module, state: Any, prefix: str, metadata: Any) -> None:
        state["renamed"] = state.pop("0.factor")

    layer.register_state_dict_post_hook(rename)
    assert list(layer.state_dict()) == ["renamed"]
    assert seen == [("0.", False), ("0.", False)]
    layer._state_dict_hooks.clear()
    layer._register_state_dict_hook(lambda *_: {"other": 1})
    assert layer.state_dict() == {"other": 1}


def test_hooks_around_loading() -> None:
    layer = nn.Sequential(Scaled(2.0))

    def rename(state: Any, prefix: str, *_: Any) -> None:
        state[prefix + "factor"] = state.pop(prefix + "old_name")

    seen: list[Any] = []
    layer[0]._register_load_state_dict_pre_hook(rename)
    layer[0].register_load_state_dict_pre_hook(lambda m, state, *_: seen.append((m, len(state))))
    state = {"0.old_name": flambeau.tensor(5.0)}
    layer.load_state_dict(state)
    assert layer[0].factor.item() == 5.0
    assert list(state) == ["0.old_name"]
    assert seen == [(layer[0], 1)]
    state["surplus"] = flambeau.ones(1)
    with pytest.raises(RuntimeError, match="unexpected keys: surplus"):
        layer.load_state_dict(state)
    layer.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    layer.load_state_dict(state)
    layer.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(RuntimeError, match="in place"):
        layer.load_state_dict(state)


def test_own_forms_of_state() -> None:
    class Packed(Scaled):
        _version = 3

        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            destination[prefix + "packed"] = self.factor.item()

        def _load_from_state_dict(self, state: Any, prefix: str, metadata: Any, *_: Any) -> None:
            assert metadata["version"] == 3
            self.factor.fill_(state[prefix + "packed"])

    source, target = nn.Sequential(Packed(7.0)), nn.Sequential(Packed(1.0))
    state = source.state_dict()
    assert state == {"0.packed": 7.0}
    assert state._metadata["0"] == {"version": 3}
    target.load_state_dict(state)
    assert target[0].factor.item() == 7.0


def test_states_of_batch_norm_without_a_counter() -> None:
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        layer.load_state_dict(state)
    state._metadata.clear()
    layer.load_state_dict(state)


def test_hooked_modules_are_copied_and_pickled() -> None:
    layer = nn.Linear(1, 1)
    layer.register_forward_hook(_doubled)
    layer.register_forward_hook(_plus_keyword, with_kwargs=True)
    x = flambeau.ones(1, 1)
    expected = layer(x).item()
    for clone in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert clone(x).item() == expected
        clone.register_forward_hook(_doubled)
        assert clone(x).item() == 2 * expected
    assert layer(x).item() == expected


def _doubled(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    return output * 2


def _plus_keyword(module: nn.Module, inputs: Any, keywords: Any, output: Tensor) -> Tensor:
    return output + keywords.get("plus", 1)


def test_arguments_of_the_base_class() -> None:
    class Other:
        def __init__(self, word: str) -> None:
            self.word = word

    class Mixed(nn.Module, Other):
        call_super_init = True

        def __init__(self, word: str) -> None:
            super().__init__(word)

    assert Mixed("hello").word == "hello"
    with pytest.raises(TypeError, match="no arguments"):
        nn.Module(3)


def test_replacing_submodules() -> None:
    model = nn.Sequential(nn.Sequential(nn.ReLU()))
    model.set_submodule("0.0", nn.Tanh())
    assert isinstance(model[0][0], nn.Tanh)
    model.set_submodule("0.1", nn.ReLU())
    assert len(model[0]) == 2
    with pytest.raises(AttributeError, match="no submodule '7'"):
        model.set_submodule("0.7", nn.ReLU(), strict=True)
    with pytest.raises(AttributeError, match="no Module"):
        model.set_submodule("0.forward", nn.ReLU())
    with pytest.raises(ValueError, match="name"):
        model.set_submodule("", nn.ReLU())


def test_to_empty_and_memory_format() -> None:
    layer = nn.Conv2d(3, 4, 2)
    weight = layer.weight
    layer.to(memory_format=flambeau.channels_last)
    assert layer.weight is weight
    assert weight.is_contiguous(memory_format=flambeau.channels_last)
    assert layer.to_empty(device="cpu").weight.shape == (4, 3, 2, 2)


def test_states_of_modules_with_plain_dicts_of_hooks() -> None:
    layer = nn.Identity()
    state = layer.__getstate__()
    clone = nn.Identity.__new__(nn.Identity)
    clone.__setstate__({**state, "_forward_hooks": {7: _doubled}, "_backward_hooks": {}})
    assert clone(flambeau.ones(1)).item() == 2
    clone.register_forward_hook(_doubled)
    assert clone(flambeau.ones(1)).item() == 4


def test_tables_of_hooks_are_there_before_the_first_hook() -> None:
    layer, optimizer = nn.Linear(2, 2), flambeau.optim.SGD([flambeau.ones(1)], lr=0.1)
    for owner in (layer, optimizer):
        for name in [name for name in dir(owner) if name.endswith("_hooks") and name[:2] != "__"]:
            table = getattr(owner, name)
            if callable(table):
                continue
            assert len(table) == 0 and list(table.items()) == []
            table.clear()
            with pytest.raises(TypeError, match="add hooks by the methods register_forward_hook"):
                table[0] = print
    layer.register_forward_hook(lambda module, inputs, output: output * 0)
    assert len(layer._forward_hooks) == 1 and len(nn.Linear(2, 2)._forward_hooks) == 0
    layer._forward_hooks.clear()
    assert layer(flambeau.ones(2)).tolist() != [0.0, 0.0]
