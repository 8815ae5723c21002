"""Sequences that lie about themselves, values that no message can print in full, memory where no
number may begin.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn


class Itself:
    """A sequence of three elements, all of them itself; its iterator never ends."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Itself:
        return self


class Long(list):
    """A list whose class lies about its length."""

    def __len__(self) -> int:
        return 2**40


def deep(depth: int) -> list[Any]:
    items: list[Any] = []
    for _ in range(depth):
        items = [items]
    return items


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A walk without an end is an error, however loaded the machine is."""

    def stop(*_: object) -> None:
        raise AssertionError("the walk had no end")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


WALKS: dict[str, Callable[[Any], Any]] = {
    "tensor": flambeau.tensor,
    "index": lambda s: flambeau.ones(3)[s],
    "array_wrap": lambda s: flambeau.ones(0).__array_wrap__(s),
    "cat": flambeau.cat,
    "index_put": lambda s: flambeau.ones(3).index_put_(s, flambeau.ones(1)),
    "flip": lambda s: flambeau.ones(3).flip(s),
    "size": flambeau.Size,
    "backward": flambeau.autograd.backward,
    "layer_norm": nn.LayerNorm,
    "rms_norm": lambda s: nn.functional.rms_norm(flambeau.ones(3), s),
    "pad": lambda s: nn.functional.pad(flambeau.ones(3), s),
    "pool": lambda s: nn.functional.adaptive_avg_pool2d(flambeau.ones(1, 3, 3), s),
    "conv": lambda s: nn.Conv2d(1, 1, s),
    "sgd": lambda s: flambeau.optim.SGD(s, 0.1),
    "vsplit": lambda s: flambeau.vsplit(flambeau.ones(2, 2), s),
    "clip_grad": lambda s: nn.utils.clip_grad_norm_(s, 1.0),
}


@pytest.mark.parametrize("name", WALKS)
def test_a_sequence_that_holds_itself(name: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError, RuntimeError)) as caught:
        WALKS[name](Itself())
    assert str(caught.value)


HUGE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "tensor": (flambeau.tensor, r"tensor\(\).* 4611686018427387904 elements of a range"),
    "as_tensor": (flambeau.as_tensor, r"as_tensor\(\).* 4611686018427387904 elements"),
    "index": (lambda s: flambeau.ones(0).__setitem__(s, 0), r"index.* 4611686018427387904"),
    "backward": (
        lambda s: flambeau.autograd.backward(flambeau.ones(()), grad_variables=s),
        r"backward\(\).* 4611686018427387904",
    ),
    "flip": (lambda s: flambeau.ones(0).flip(dims=s), r"flip\(\).*'dims'.* 4611686018427387904"),
    "cat": (flambeau.cat, r"cat\(\).*'tensors'.* 4611686018427387904"),
}


@pytest.mark.parametrize("name", HUGE)
def test_more_elements_than_memory_holds(name: str) -> None:
    call, message = HUGE[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call(range(2**62))


def test_a_list_has_the_elements_that_it_holds() -> None:
    assert flambeau.tensor(Long([1, 2])).tolist() == [1, 2]
    assert flambeau.ones(2, 3).sum(dim=Long([1])).tolist() == [3.0, 3.0]
    assert flambeau.cat(Long([flambeau.ones(1)])).tolist() == [1.0]
    assert flambeau.zeros(3)[Long([0, 2])].shape == (2,)
    assert len(nn.ModuleList(Long([nn.ReLU()]))) == 1
    assert len(nn.Sequential().extend(Long([nn.ReLU()]))) == 1
    assert len(nn.ParameterList(Long([flambeau.ones(1)]))) == 1


@pytest.mark.parametrize("what", [flambeau.ones(1), nn.Parameter()], ids=type)
def test_what_copies_are_remembered_in_is_a_dict(what: Any) -> None:
    with pytest.raises(TypeError, match="memo must be a dict, got Itself"):
        what.__deepcopy__(Itself())


def test_layers_to_copy_are_modules() -> None:
    with pytest.raises(TypeError, match=r"expected a layer \(a Module\) to copy, got list"):
        nn.TransformerDecoder([], num_layers=1)


def test_iterables_are_read_as_before() -> None:
    assert flambeau.tensor(range(3)).tolist() == [0, 1, 2]
    assert flambeau.ones(2, 3).sum(range(2)).item() == 6.0
    assert flambeau.Size(i for i in (1, 2)) == (1, 2)
    assert flambeau.ones(2, 3).permute(np.array([1, 0])).shape == (3, 2)


def test_interruptions_pass_through_arguments() -> None:
    class Interrupting:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flambeau.ones(3).flip(Interrupting())


@pytest.mark.parametrize("count", ["unbind", "split"])
def test_errors_for_want_of_memory_name_the_operator(count: str) -> None:
    huge = flambeau.empty(2**50, device="meta")
    with pytest.raises(MemoryError, match=rf"^{count}\(\): "):
        huge.unbind() if count == "unbind" else huge.split(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda value: nn.CircularPad2d([value]),
        lambda value: nn.NLLLoss(reduction=value),
        flambeau.iinfo,
        flambeau.finfo,
        lambda value: nn.RNN(1, 1, nonlinearity=value),
        lambda value: nn.RNN(1, 0, num_layers=value),
        lambda value: nn.MultiheadAttention(0, value),
        lambda value: flambeau.set_printoptions(profile=value),
        lambda value: nn.functional.pad(flambeau.ones(3), [1, 1], mode=value),
    ],
)
@pytest.mark.parametrize(
    "value",
    [deep(100_000), 10**5000, "x" * 10**6, float],
    ids=["deep list", "large int", "long string", "type"],
)
def test_messages_show_a_value_shortly(call: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises((TypeError, ValueError, NotImplementedError, KeyError)) as caught:
        call(value)
    assert 0 < len(str(caught.value)) < 1000


@pytest.mark.parametrize("value", [np.datetime64("2020"), np.timedelta64(3), np.datetime64()])
def test_dates_are_no_numbers(value: Any) -> None:
    for make in (flambeau.tensor, flambeau.as_tensor, flambeau.ones(0).__array_wrap__):
        with pytest.raises(TypeError, match=r"cannot make a tensor of numpy\.(date|time)"):
            make(value)
        with pytest.raises(TypeError, match=r"cannot make a tensor of numpy\.(date|time)"):
            make([value])


def test_errors_have_the_names_that_users_know() -> None:
    for function in ("from_numpy", "from_dlpack", "to_dlpack"):
        with pytest.raises(TypeError, match=rf"^(flambeau\.)?{function}\(\)"):
            getattr(flambeau, function)()
    with pytest.raises(TypeError, match=r"^to_dlpack\(\): .* must be Tensor, not int"):
        flambeau.to_dlpack(0)
    assert pickle.loads(pickle.dumps(flambeau.add)) is flambeau.add
    assert flambeau.add.__module__ == "flambeau"
    assert flambeau._C.nn.functional.gelu.__module__ == "flambeau.nn.functional"
    node = (flambeau.ones(1, requires_grad=True) * 2).grad_fn
    for value in (node, flambeau.Generator(), flambeau.float32, flambeau.device("cpu")):
        with pytest.raises(TypeError) as caught:
            flambeau.exp(value)
        assert "_C" not in str(caught.value)


# Memory that is not aligned -----------------------------------------------------------------------


def odd_bytes(count: int) -> np.ndarray[Any, Any]:
    """Bytes 0, 1, 2, ... from an odd address on."""
    room = np.zeros(count + 2, np.uint8)
    bytes_ = room[1 - room.ctypes.data % 2 :][:count]
    bytes_[:] = np.arange(count)
    assert bytes_.ctypes.data % 2 == 1
    return bytes_


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_memory_that_is_not_aligned_is_not_shared(dtype: str) -> None:
    array = odd_bytes(32).view(dtype)
    for share in (flambeau.from_numpy, flambeau.from_dlpack, flambeau.as_tensor):
        with pytest.raises(ValueError, match=r"address.*multiple of the element size.*copy"):
            share(array)
    np.testing.assert_array_equal(flambeau.tensor(array).numpy(), array)
    np.testing.assert_array_equal(flambeau.tensor(array[::2]).numpy(), array[::2])
    assert flambeau.from_numpy(array[:0]).shape == (0,)
    assert flambeau.from_numpy(odd_bytes(5)).tolist() == [0, 1, 2, 3, 4]


def test_numbers_are_not_read_where_none_may_begin() -> None:
    buffer = odd_bytes(32)
    with pytest.raises(ValueError, match=r"frombuffer.*offset 4 .*float32"):
        flambeau.frombuffer(buffer, dtype=flambeau.float32, offset=4)
    shared = flambeau.frombuffer(buffer, dtype=flambeau.uint8)
    for dtype in (flambeau.int16, flambeau.float32, flambeau.complex64):
        with pytest.raises(RuntimeError, match=r"view.*address"):
            shared.view(dtype)
        assert shared.clone().view(dtype).numel() == 32 // dtype.itemsize
        with pytest.raises(ValueError, match=r"address"):
            shared.untyped_storage()._view(dtype, 0, (1,), (1,))


def test_buffers_of_pickles_need_not_be_aligned() -> None:
    taken: list[pickle.PickleBuffer] = []
    data = pickle.dumps(flambeau.arange(4.0), protocol=5, buffer_callback=taken.append)
    moved = odd_bytes(16)
    moved[:] = np.frombuffer(taken[0].raw(), np.uint8)
    assert pickle.loads(data, buffers=[moved]).tolist() == [0.0, 1.0, 2.0, 3.0]
