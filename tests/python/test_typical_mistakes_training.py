"""Typical mistakes with models, optimizers and data: messages, and the place in the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import flambeau
from flambeau import nn, optim
from flambeau.utils.data import DataLoader

FLOAT = flambeau.ones


class WithoutInit(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(1, 1)


class WithoutForward(nn.Module):
    pass


def load(**state: flambeau.Tensor) -> None:
    nn.Linear(2, 3).load_state_dict({key.replace("__", "."): v for key, v in state.items()})


def leaf(*shape: int) -> flambeau.Tensor:
    return flambeau.ones(*shape, requires_grad=True)


LINEAR = "in Linear(in_features=10, out_features=5, bias=True)"
UNFIT = "load_state_dict: the state does not fit Linear:\n  "

# What is done, the exception, its message, and the note that names the module ("" where none does).
MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str, str]] = {
    "linear": (
        lambda: nn.Linear(10, 5)(FLOAT(3, 8)),
        RuntimeError,
        "linear(): input of shape [3, 8] and weight of shape [5, 10] do not multiply: 8 features, "
        "10 expected",
        LINEAR,
    ),
    "linear of float64": (
        lambda: nn.Linear(10, 5)(FLOAT(3, 10, dtype=flambeau.float64)),
        RuntimeError,
        "linear(): argument 'weight' has dtype float32 but 'input' has dtype float64; they must "
        "be the same: convert one with .to()",
        LINEAR,
    ),
    "linear elsewhere": (
        lambda: nn.Linear(10, 5)(FLOAT(3, 10, device="meta")),
        RuntimeError,
        "linear(): argument 'weight' is on cpu but the others are on meta; move them to one "
        "device first",
        LINEAR,
    ),
    "too many arguments": (
        lambda: nn.Linear(10, 5)(FLOAT(1, 10), FLOAT(1)),
        TypeError,
        "Linear.forward() takes 2 positional arguments but 3 were given",
        LINEAR,
    ),
    "a missing argument": (
        lambda: nn.Linear(10),
        TypeError,
        "Linear.__init__() missing 1 required positional argument: 'out_features'",
        "",
    ),
    "channels": (
        lambda: nn.Conv2d(3, 8, 3)(FLOAT(1, 4, 9, 9)),
        RuntimeError,
        "conv2d(): weight of shape [8, 3, 3, 3] and groups = 1 expect 3 input channels, got 4 "
        "(input of shape [1, 4, 9, 9])",
        "in Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))",
    ),
    "an image without channels": (
        lambda: nn.Conv2d(3, 8, 3)(FLOAT(9, 9)),
        RuntimeError,
        "conv2d(): expected an input of three or four dims and a weight of four, got shapes "
        "[9, 9] and [8, 3, 3, 3]",
        "in Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))",
    ),
    "a small image": (
        lambda: nn.Conv2d(3, 8, 5)(FLOAT(1, 3, 3, 3)),
        RuntimeError,
        "conv2d(): the kernel, 5 long with its dilation, does not fit the padded input of 3 at "
        "spatial dimension 0 (input [3, 3], kernel [5, 5])",
        "in Conv2d(3, 8, kernel_size=(5, 5), stride=(1, 1))",
    ),
    "groups": (
        lambda: nn.Conv2d(3, 8, 3, groups=2),
        ValueError,
        "Conv2d: in_channels=3 does not divide by groups=2",
        "",
    ),
    "a word that is not there": (
        lambda: nn.Embedding(3, 2)(flambeau.tensor([3])),
        IndexError,
        "embedding: argument input holds index 3 at position 0; expected 0 <= index < 3",
        "in Embedding(3, 2)",
    ),
    "words as floats": (
        lambda: nn.Embedding(3, 2)(flambeau.tensor([1.0])),
        RuntimeError,
        "embedding(): argument 'input' has dtype float32, expected one of: int32, int64",
        "in Embedding(3, 2)",
    ),
    "layer norm": (
        lambda: nn.LayerNorm(4)(FLOAT(2, 3)),
        RuntimeError,
        "layer_norm(): expected an input whose last dims are normalized_shape = [4], got shape "
        "[2, 3]",
        "in LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)",
    ),
    "batch norm of one sample": (
        lambda: nn.BatchNorm1d(4)(FLOAT(1, 4)),
        ValueError,
        "batch_norm(): expected more than one value per channel when training, got an input of "
        "shape [1, 4]",
        "in BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, "
        "track_running_stats=True)",
    ),
    "recurrent": (
        lambda: nn.LSTM(4, 5)(FLOAT(2, 3, 6)),
        RuntimeError,
        "LSTM: expected an input of 2 or 3 dimensions, the last of size 4, got shape (2, 3, 6)",
        "in LSTM(4, 5)",
    ),
    "heads": (
        lambda: nn.MultiheadAttention(5, 2),
        ValueError,
        "MultiheadAttention: embed_dim 5 must be a multiple of num_heads 2",
        "",
    ),
    "dropout": (
        lambda: nn.Dropout(1.5),
        ValueError,
        "Dropout: p must be within [0, 1], got 1.5",
        "",
    ),
    "no forward": (
        lambda: WithoutForward()(1),
        NotImplementedError,
        "WithoutForward has no forward()",
        "in WithoutForward()",
    ),
    "no Module.__init__": (
        WithoutInit,
        AttributeError,
        "WithoutInit assigns parameters or modules before Module.__init__() was called",
        "",
    ),
    "a tensor for a parameter": (
        lambda: setattr(nn.Linear(1, 1), "weight", FLOAT(1, 1)),
        TypeError,
        "cannot assign Tensor to parameter 'weight' of Linear: a Parameter or None is expected",
        "",
    ),
    "a misspelled key": (
        lambda: load(wieght=FLOAT(3, 2), bias=FLOAT(3)),
        RuntimeError,
        f"{UNFIT}missing keys: weight\n  unexpected keys: wieght (wieght for weight?)",
        "",
    ),
    "the keys of a wrapper": (
        lambda: load(module__weight=FLOAT(3, 2), module__bias=FLOAT(3)),
        RuntimeError,
        f"{UNFIT}missing keys: weight, bias\n  unexpected keys: module.weight, module.bias "
        "(all begin with 'module.': was the state that of a wrapper?)",
        "",
    ),
    "another shape": (
        lambda: load(weight=FLOAT(2, 3), bias=FLOAT(3)),
        RuntimeError,
        f"{UNFIT}weight: shape (2, 3), expected (3, 2)",
        "",
    ),
    "no parameters": (
        lambda: optim.SGD([], lr=0.1),
        ValueError,
        "SGD: got no parameters: argument 'params' is empty",
        "",
    ),
    "parameters without a call": (
        lambda: optim.SGD(nn.Linear(1, 1).parameters, lr=0.1),
        TypeError,
        "SGD: argument 'params' must be an iterable of parameters, as model.parameters() gives "
        "it, not method",
        "",
    ),
    "a tensor for parameters": (
        lambda: optim.SGD(leaf(2), lr=0.1),
        TypeError,
        "SGD: argument 'params' must be an iterable of parameters, as model.parameters() gives "
        "it, not Tensor",
        "",
    ),
    "a result for a parameter": (
        lambda: optim.SGD([leaf(2) * 2], lr=0.1),
        ValueError,
        "SGD: the result of a computation cannot be optimized; give the leaves it was computed "
        "from, or make it one: detach().requires_grad_()",
        "",
    ),
    "a learning rate": (
        lambda: optim.SGD([leaf(1)], lr=-1),
        ValueError,
        "SGD: lr must not be negative, got -1",
        "",
    ),
    "an empty batch": (
        lambda: DataLoader([1], batch_size=0),
        ValueError,
        "BatchSampler: batch_size must be a positive int, got 0",
        "",
    ),
    "samples of two shapes": (
        lambda: next(iter(DataLoader([FLOAT(1), FLOAT(2)], batch_size=2))),
        RuntimeError,
        "default_collate: samples of shapes (1,) and (2,) cannot be stacked; make them one shape, "
        "or join them in a collate_fn of your own",
        "",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    make, kind, wanted, note = MISTAKES[name]
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == wanted
    assert getattr(caught.value, "__notes__", []) == ([note] if note else [])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Flatten(), nn.Linear(9, 2))])

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def notes_of(call: Callable[[], object]) -> list[str]:
    with pytest.raises(RuntimeError) as caught:
        call()
    return caught.value.__notes__


def test_a_note_names_the_path_of_the_module_that_failed() -> None:
    linear = "(Linear(in_features=9, out_features=2, bias=True))"
    assert notes_of(lambda: Net()(FLOAT(2, 8))) == [f"in Net.blocks.0.1 {linear}"]
    # A hook is part of the call.
    model = Net()
    model.register_forward_pre_hook(lambda module, args: None)
    assert notes_of(lambda: model(FLOAT(2, 8))) == [f"in Net.blocks.0.1 {linear}"]


def test_a_module_outside_the_model_has_a_note_of_its_own() -> None:
    class Calls(nn.Module):
        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return Net()(x)

    path = "in Net.blocks.0.1 (Linear(in_features=9, out_features=2, bias=True))"
    assert notes_of(lambda: Calls()(FLOAT(2, 8))) == [path, "in Calls()"]


def test_the_exception_is_the_one_that_was_raised() -> None:
    error = KeyError("mine")

    class Raises(nn.Module):
        def forward(self) -> None:
            raise error

    model = nn.Sequential(Raises())
    with pytest.raises(KeyError) as caught:
        model[0]()
    assert caught.value is error and error.__notes__ == ["in Raises()"]
