"""Calls with arguments of the usual exact types are bound by a short way, others by the parser.
Both must choose the same overload, and read the same values.

Subclasses of int, float, str, list and tuple take no short way; they mean what their base class
means. What is called are all names with several overloads, with whatever comes to mind.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

import flambeau
from flambeau.codegen.plan.binding import Binding, plan_bindings
from flambeau.codegen.read.loader import library_declarations

# What has nothing but these has no subclass to give.
EXACT = {"tensor", "boolean", "dtype", "device", "generator", "memory_format"}
BINDINGS = [
    binding
    for binding in plan_bindings(library_declarations())
    if len(binding.overloads) > 1
    and any(
        p.kind not in EXACT and "kOut" not in p.flags
        for o in binding.overloads
        for p in o.parameters
    )
    and not any(operator.test.arbitrary for operator, _, _ in binding.documented)
]
MOST = 3  # arguments after the first
SAMPLED = 200  # of the calls with so many


class Int(int):
    """Not exactly an int."""


class Float(float):
    """Not exactly a float."""


class Str(str):
    """Not exactly a str."""


class List(list[Any]):
    """Not exactly a list."""


class Tuple(tuple[Any, ...]):
    """Not exactly a tuple."""


DISGUISES = {int: Int, float: Float, str: Str, list: List, tuple: Tuple}


def disguised(value: object) -> Any:
    """The same value in a class of its own, if it can have one."""
    made = DISGUISES.get(type(value))
    return made(value) if made else value


def tensor() -> flambeau.Tensor:
    return flambeau.arange(12, dtype=flambeau.float32).view(3, 4)


FIRST = (tensor(), tensor() > 5, 2, [tensor(), tensor()])


def values() -> list[Any]:
    """One of each kind; none that is large."""
    index = flambeau.tensor([0, 2])
    return [
        *(tensor(), index, index > 0),
        *(1, -1, 0.5, True, None, "mean"),
        *((0, 1), [1], (), [tensor(), tensor()], flambeau.int64),
    ]


def functions(binding: Binding) -> Iterator[Any]:
    """The function, and the method as a function of its receiver: TypeError for another one."""
    if binding.is_method:
        yield getattr(flambeau.Tensor, binding.method_names[0])
    for place in binding.places[:1] if binding.is_function else ():
        space: Any = flambeau._C
        for part in filter(None, place.namespace.split(".")):
            space = getattr(space, part)
        yield getattr(space, place.name)


Call = tuple[tuple[Any, ...], dict[str, Any]]


def calls(binding: Binding) -> Iterator[Call]:
    """Calls by position, and with one argument by name."""
    for count in range(MOST):
        for arguments in itertools.product(FIRST, *[values()] * count):
            yield arguments, {}
    longer = list(itertools.product(FIRST, *[values()] * MOST))
    for arguments in random.Random(0).sample(longer, SAMPLED):
        yield arguments, {}
    names = {p.name: None for o in binding.overloads for p in o.parameters if "out" not in p.name}
    needed = min(sum(p.default is None for p in o.parameters) for o in binding.overloads)
    for name, value in itertools.product(names, values()):
        yield FIRST[:1] * max(needed, 1), {name: value}


def is_disguisable(call: Call) -> bool:
    return any(type(value) in DISGUISES for value in (*call[0], *call[1].values()))


def outcome(function: Any, call: Call) -> str:
    """What a call returns, or how it fails."""
    arguments = [a.clone() if isinstance(a, flambeau.Tensor) else a for a in call[0]]
    flambeau.manual_seed(0)
    try:
        return repr(function(*arguments, **call[1]))
    except Exception as error:
        # Messages name the class of an argument.
        return type(error).__name__


@pytest.mark.parametrize("binding", BINDINGS, ids=lambda b: b.shown)
def test_exact_types_mean_what_their_subclasses_mean(binding: Binding) -> None:
    bound = 0
    for function in functions(binding):
        for call in filter(is_disguisable, calls(binding)):
            seen = outcome(function, call)
            bound += seen != "TypeError"
            arguments, keywords = call
            other = (*map(disguised, arguments),), {k: disguised(v) for k, v in keywords.items()}
            assert outcome(function, other) == seen, call
    assert bound, "no call of it made sense"
