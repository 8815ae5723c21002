"""Objects of every type that the library defines, made and used in unusual ways: errors at most."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

import flambeau


def used_context() -> Any:
    kept = []

    class Keeps(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    kept.append(Keeps.apply(flambeau.ones(2, requires_grad=True)))
    return kept[0]


def leaf() -> flambeau.Tensor:
    return flambeau.ones(2, requires_grad=True)


MAKERS: dict[str, Callable[[], Any]] = {
    "Tensor": lambda: flambeau.ones(2),
    "recorded Tensor": lambda: leaf() * 2,
    "Parameter": lambda: flambeau.nn.Parameter(flambeau.ones(2)),
    "Size": lambda: flambeau.Size([1, 2]),
    "device": lambda: flambeau.device("cpu"),
    "dtype": lambda: flambeau.float32,
    "layout": lambda: flambeau.strided,
    "memory_format": lambda: flambeau.channels_last,
    "Generator": flambeau.Generator,
    "default generator": lambda: flambeau.default_generator,
    "storage": lambda: flambeau.ones(2).untyped_storage(),
    "Node": lambda: (leaf() * 2).grad_fn,
    "accumulator": lambda: (leaf() * 2).grad_fn.next_functions[0][0],
    "node of a Function": lambda: used_context() and (leaf() + 1).grad_fn,
    "handle": lambda: leaf().register_hook(lambda grad: None),
    "handle of a node": lambda: (leaf() * 2).grad_fn.register_hook(lambda i, o: None),
    "context": flambeau.autograd.function.FunctionCtx,
    "used context": used_context,
    "named result": lambda: flambeau.ones(2, 2).max(0),
    "finfo": lambda: flambeau.finfo(flambeau.float32),
    "iinfo": lambda: flambeau.iinfo(flambeau.int8),
    "C function": lambda: flambeau.ops.c_function("int32 abs(int32 x)", "libc.so.6"),
    "function": lambda: flambeau.add,
    "method": lambda: flambeau.Tensor.add,
    "bound method": lambda: flambeau.ones(2).add,
}
GARBAGE: list[Any] = [
    None,
    0,
    -1,
    "text",
    b"bytes",
    [],
    (),
    {},
    (None,) * 3,
    {"a": 1},
    object(),
    flambeau.ones(1),
]
EXPECTED = (Exception,)


def attempt(call: Callable[[], Any]) -> Any:
    """The result, or the error: which must have words."""
    try:
        return call()
    except EXPECTED as error:
        assert not isinstance(error, SystemError)
        assert str(error) or isinstance(error, StopIteration), f"{error!r} says nothing"
        return error


def exercise(value: Any) -> None:
    """Asks an object for everything it has."""
    for look in (repr, str, hash, len, iter, bool, dir, vars):
        attempt(lambda look=look: look(value))
    attempt(lambda: value == value)
    attempt(lambda: value < value)
    attempt(lambda: memoryview(value))
    for name in dir(type(value)):
        if name in ("__class__", "__init_subclass__", "__subclasshook__", "__abstractmethods__"):
            continue
        member = attempt(lambda name=name: getattr(value, name))
        if not callable(member) or isinstance(member, type) or name == "backward":
            continue
        attempt(member)
        for garbage in GARBAGE:
            attempt(lambda member=member, garbage=garbage: member(garbage))


@pytest.mark.parametrize("make", MAKERS)
def test_instances_that_new_makes(make: str) -> None:
    kind = type(MAKERS[make]())
    for call in (
        lambda: kind.__new__(kind),
        lambda: object.__new__(kind),
        lambda: kind.__new__(kind, *GARBAGE[:3]),
        lambda: tuple.__new__(kind, (1, 2)),
        kind,
    ):
        made = attempt(call)
        if type(made) is kind:
            exercise(made)
            del made
    gc.collect()


@pytest.mark.parametrize("make", MAKERS)
def test_members_called_with_anything(make: str) -> None:
    exercise(MAKERS[make]())


@pytest.mark.parametrize("make", MAKERS)
def test_copies(make: str) -> None:
    value = MAKERS[make]()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = attempt(lambda protocol=protocol: pickle.dumps(value, protocol))
        if isinstance(data, bytes):
            loaded = attempt(lambda data=data: pickle.loads(data))
            if not isinstance(loaded, Exception):
                exercise(loaded)
        reduced = attempt(lambda protocol=protocol: value.__reduce_ex__(protocol))
        if isinstance(reduced, tuple):
            attempt(lambda reduced=reduced: reduced[0](*reduced[1]))
    for copied in (attempt(lambda: copy.copy(value)), attempt(lambda: copy.deepcopy(value))):
        if not isinstance(copied, Exception):
            exercise(copied)


@pytest.mark.parametrize("make", MAKERS)
def test_initialised_again(make: str) -> None:
    value = MAKERS[make]()
    for arguments in ((), (1,), (None, None), tuple(GARBAGE)):
        attempt(lambda arguments=arguments: value.__init__(*arguments))
    for state in GARBAGE:
        attempt(lambda state=state: value.__setstate__(state))
        attempt(lambda state=state: setattr(value, "__dict__", state))
    exercise(value)


@pytest.mark.parametrize("make", MAKERS)
def test_subclasses(make: str) -> None:
    kind = type(MAKERS[make]())

    def define(new: Any = None) -> Any:
        members = {} if new is None else {"__new__": new}
        return type("Derived", (kind,), members)

    derived = attempt(define)
    if isinstance(derived, type):
        for call in (derived, lambda: derived.__new__(derived), lambda: object.__new__(derived)):
            made = attempt(call)
            if isinstance(made, derived):
                exercise(made)
        lazy = define(lambda cls, *args: object.__new__(cls))
        attempt(lazy)
    gc.collect()


def test_all_types_are_among_them() -> None:
    """Types that the extension defines, apart from those of the tables above."""
    known = {type(make()) for make in MAKERS.values()}
    known |= {base for kind in known for base in kind.__mro__}
    spaces = [flambeau._C, flambeau._C._autograd]
    for space in spaces:
        for name, member in vars(space).items():
            # Not those of Python, nor those that are written in it.
            written = inspect.isclass(member) and re.search(
                "_torch_function|_compiled_names|grad_mode|^builtins$", member.__module__
            )
            if inspect.isclass(member) and not issubclass(member, Exception) and not written:
                assert member in known, f"{name} is not tested"


def test_types_that_are_not_instantiated_say_so() -> None:
    for kind in (flambeau.dtype, flambeau.layout, type((leaf() * 2).grad_fn)):
        for call in (kind, lambda kind=kind: kind.__new__(kind)):
            with pytest.raises(TypeError, match=f"cannot create|not safe.*{kind.__name__}"):
                call()


def test_a_generator_without_init_draws() -> None:
    generator = flambeau.Generator.__new__(flambeau.Generator)
    generator.manual_seed(3)
    other = flambeau.Generator().manual_seed(3)
    drawn = flambeau.rand(4, generator=generator)
    assert drawn.tolist() == flambeau.rand(4, generator=other).tolist()

    class Derived(flambeau.Generator):
        pass

    assert (
        Derived().manual_seed(3).get_state().tolist()
        == flambeau.Generator().manual_seed(3).get_state().tolist()
    )
    with pytest.raises(TypeError, match="device"):
        flambeau.Generator(3.5)


@pytest.mark.parametrize("version", [2, "1.0", (1,), (1, 2, 3), ("1", 0), [1, 0], (1.5, 0)])
def test_dlpack_versions_that_are_none(version: Any) -> None:
    x = flambeau.ones(2)
    with pytest.raises(TypeError, match=r"__dlpack__\(\): argument 'max_version' must be a tuple"):
        x.__dlpack__(max_version=version)
    with pytest.raises(TypeError, match=r"__dlpack__\(\): argument 'dl_device' must be a tuple"):
        x.__dlpack__(dl_device=version)
    assert x.__dlpack__(max_version=(2, 7), dl_device=(1, 0)) is not None


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: flambeau.unique(None), "unique"),
        (lambda: flambeau.unique(3), "unique"),
        (lambda: flambeau.unique(flambeau.ones(2, dtype=flambeau.complex64)), "unique"),
        (lambda: flambeau.unique_consecutive([1]), "unique_consecutive"),
        (lambda: flambeau.median(flambeau.ones(2, 0), 1), "median"),
        (lambda: 2 // flambeau.ones(2, dtype=flambeau.complex64), "floor_divide"),
        (lambda: 2 << flambeau.ones(2), "bitwise_left_shift"),
        (lambda: flambeau.nn.functional.huber_loss(flambeau.ones(2), flambeau.ones(3)), "huber"),
        (lambda: flambeau.nn.functional.prelu(flambeau.ones(2), flambeau.ones(2, 3)), "prelu"),
    ],
)
def test_messages_name_public_functions(call: Callable[[], Any], name: str) -> None:
    with pytest.raises((TypeError, RuntimeError, IndexError, ValueError)) as caught:
        call()
    assert str(caught.value).startswith(name)
    assert "_internal" not in str(caught.value)
