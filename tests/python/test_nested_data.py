"""Lists in lists: how deep they may go, and lists that change while they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def itself() -> list[Any]:
    data: list[Any] = []
    data.append(data)
    return data


def itself_second() -> list[Any]:
    data: list[Any] = [1.0]
    data.append(data)
    return data


def two_that_hold_each_other() -> tuple[Any, ...]:
    a: list[Any] = []
    b = (a, a)
    a += [b, b]
    return b


def nested(depth: int) -> Any:
    data: Any = 1
    for _ in range(depth):
        data = [data]
    return data


class Endless:
    """A sequence whose only element is another one."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Endless:
        if index > 0:
            raise IndexError
        return Endless()


TOO_DEEP: dict[str, Callable[[], Any]] = {
    "itself": itself,
    "itself second": itself_second,
    "each other": two_that_hold_each_other,
    "65 deep": lambda: nested(65),
    "100000 deep": lambda: nested(100_000),
    "endless": Endless,
}
READERS: dict[str, Callable[[Any], object]] = {
    "tensor": flambeau.tensor,
    "tensor with dtype": lambda data: flambeau.tensor(data, dtype=flambeau.float32),
    "as_tensor": flambeau.as_tensor,
    "new_tensor": lambda data: flambeau.ones(2).new_tensor(data),
    "Tensor": flambeau.Tensor,
    "index": lambda data: flambeau.ones(3)[data],
    "index of a tuple": lambda data: flambeau.ones(3, 3)[0, data],
    "assignment": lambda data: flambeau.ones(3).__setitem__(0, data),
    "assignment by index": lambda data: flambeau.ones(3).__setitem__(data, 0),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("data", TOO_DEEP)
def test_data_that_is_too_deep(data: str, read: str) -> None:
    message = r"\(\): the data is nested more than 64 deep|ragged|expected a number"
    with pytest.raises(ValueError, match=message):
        READERS[read](TOO_DEEP[data]())


def test_the_deepest_data() -> None:
    x = flambeau.tensor(nested(64))
    assert x.shape == (1,) * 64
    assert x.item() == 1
    np.testing.assert_array_equal(flambeau.tensor(nested(40)).numpy().ravel(), [1])


def test_tensors_in_lists_that_are_too_deep() -> None:
    with pytest.raises(ValueError, match="64 deep"):
        flambeau.tensor([[flambeau.ones((1,) * 63)]])


@pytest.mark.parametrize("data", TOO_DEEP)
@pytest.mark.parametrize(
    "call",
    [
        flambeau.cat,
        flambeau.Size,
        flambeau.zeros,
        flambeau.ones(3).sum,
        flambeau.ones(3).__add__,
        flambeau.ones(3).add,
        flambeau.nn.functional.relu,
        flambeau.autograd.backward,
        flambeau.from_dlpack,
    ],
    ids=lambda call: call.__name__,
)
def test_errors_about_data_that_is_too_deep_end(data: str, call: Callable[..., Any]) -> None:
    result: object = NotImplemented
    try:
        result = call(TOO_DEEP[data]())
    except (TypeError, ValueError, RuntimeError) as error:
        assert 0 < len(str(error)) < 2000
    else:
        assert result is NotImplemented


class Changing:
    """An int whose reading changes a list."""

    def __init__(self, change: Callable[[], object]) -> None:
        self.change = change

    def __index__(self) -> int:
        self.change()
        return 1


@pytest.mark.parametrize("make", [Changing, lambda change: Changing(change)], ids=["plain", "made"])
def test_a_list_that_grows_while_it_is_read(make: Callable[..., Any]) -> None:
    sizes: list[Any] = []
    sizes += [make(lambda: sizes.extend([1] * 1000)), 1]
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        flambeau.zeros(sizes).expand(2)


def test_a_list_that_shrinks_while_it_is_read() -> None:
    sizes: list[Any] = []
    sizes += [Changing(sizes.clear), *([1] * 50)]
    assert flambeau.zeros(sizes).shape == ()
    rows: list[Any] = []
    rows += [[Changing(rows.clear)], *[[1]] * 1000]
    with pytest.raises((ValueError, RuntimeError), match="changed size|ragged"):
        flambeau.tensor(rows)


def test_tensors_that_another_argument_replaces() -> None:
    tensors: list[Any] = [flambeau.ones(2), flambeau.ones(2)]

    def replace() -> None:
        tensors[0] = "no tensor"

    with pytest.raises(TypeError, match="Tensor.*str"):
        flambeau.cat(tensors, dim=Changing(replace))


def test_messages_of_what_is_nested_too_deep_to_print() -> None:
    with pytest.raises(ValueError, match="MultiMarginLoss: p must be 1 or 2, got"):
        flambeau.nn.MultiMarginLoss(nested(100_000))
    with pytest.raises(ValueError, match="Future: devices must be empty"):
        flambeau.futures.Future(devices=nested(100_000))
