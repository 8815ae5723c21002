"""Entries of module_db: the same module with the same parameters, its results and gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import torch
from db_book import Book
from db_carry import Carrier, function
from db_compare import Difference, difference, shown, tensors
from db_gradients import FIRST_LOOSE, direction
from db_operators import names_of
from db_samples import some
from db_tally import Unit

import flambeau

MOST = 24
_EXACT = "float64"


@cache
def database() -> list[Any]:
    """All entries."""
    from torch.testing._internal.common_modules import module_db

    found: list[Any] = module_db
    return found


def units() -> Iterator[Unit]:
    """Every dtype, in training and in evaluation where they differ."""
    for number, entry in enumerate(database()):
        for name in names_of(entry.dtypes):
            yield Unit("module_db", number, entry.name, "train", name)
            if entry.train_and_eval_differ:
                yield Unit("module_db", number, entry.name, "eval", name)


def judge(unit: Unit, book: Book) -> None:
    """All inputs of one dtype and mode."""
    entry = database()[unit.number]
    training = unit.part == "train"
    dtype = getattr(torch, unit.dtype)
    arguments = (entry, "cpu", dtype)
    found = entry.module_inputs_func(*arguments, requires_grad=True, training=training)
    for one in some(found, MOST):
        case = Case(entry, one, dtype, training)
        ours = partial(case.ours, _result)
        agree = book.judge("module", case.text, partial(case.theirs, _result), ours)
        if agree:
            names = partial(case.theirs, _state), partial(case.ours, _state)
            book.judge("module state", case.text, *names, compare=_keys)
        if unit.dtype == _EXACT:
            given = partial(case.theirs, _gradients), partial(case.ours, _gradients)
            book.judge("module gradient", case.text, *given, compare=_loose)
    if entry.module_error_inputs_func is not None:
        wrong = entry.module_error_inputs_func(*arguments, requires_grad=True, training=training)
        for one in wrong:
            case = Case(entry, one.module_error_input, dtype, training)
            called = partial(case.theirs, _result), partial(case.ours, _result)
            book.must_raise("module errors", case.text, *called)


def _keys(theirs: Any, mine: Any, form: bool) -> Difference | None:
    """Names, dtypes and shapes of the state; numbers may be those of a random beginning."""
    return difference(theirs, mine, form=True)


def _loose(theirs: Any, mine: Any, form: bool) -> Difference | None:
    return difference(theirs, mine, FIRST_LOOSE, form)


class Case:
    """A module that is made, given PyTorch's parameters, and called."""

    def __init__(self, entry: Any, one: Any, dtype: Any, training: bool) -> None:
        self._class = entry.module_cls
        self._name = entry.name
        self._made_of = one.constructor_input
        self._given = one.forward_input
        self._dtype = dtype
        self._training = training
        self._lazy = entry.is_lazy

    @property
    def text(self) -> str:
        """The call in one line."""
        words = [_arguments(given) for given in (self._made_of, self._given) if given is not None]
        return f"{self._name}({')('.join(words)})"

    def _first(self) -> Any:
        """PyTorch's module, with the same parameters at each call."""
        torch.manual_seed(0)
        module = self._class(*self._made_of.args, **self._made_of.kwargs).to(self._dtype)
        return module.train(self._training)

    def theirs(self, then: Any) -> Any:
        module = self._first()
        if self._given is None:
            return then(torch, module, (), {})
        return then(torch, module, self._given.args, self._given.kwargs)

    def ours(self, then: Any) -> Any:
        carry = Carrier()
        made_of = carry((self._made_of.args, self._made_of.kwargs))
        given = ((), {}) if self._given is None else carry((self._given.args, self._given.kwargs))
        module = function(self._class, self._name)(*made_of[0], **made_of[1])
        module = module.to(carry(self._dtype)).train(self._training)
        first = self._first()
        if self._lazy:
            first(*self._given.args, **self._given.kwargs)
            module(*given[0], **given[1])
        module.load_state_dict(Carrier()(dict(first.state_dict())))
        return then(flambeau, module, *given)


def _result(library: Any, module: Any, args: Any, keywords: Any) -> Any:
    return module(*args, **keywords)


def _state(library: Any, module: Any, args: Any, keywords: Any) -> Any:
    module(*args, **keywords)
    return dict(module.state_dict())


def _gradients(library: Any, module: Any, args: Any, keywords: Any) -> Any:
    """By inputs and parameters; zeros where there is none."""
    found = [one for one in tensors(module(*args, **keywords)) if one.requires_grad]
    leaves = [one for one in tensors([args, keywords]) if one.requires_grad]
    leaves += [one for one in module.parameters() if one.requires_grad]
    if not found or not leaves:
        return []
    ways = [direction(library, one, i) for i, one in enumerate(found)]
    got = library.autograd.grad(found, leaves, ways, allow_unused=True)
    return [
        library.zeros_like(leaf) if one is None else one
        for one, leaf in zip(got, leaves, strict=True)
    ]


def _arguments(given: Any) -> str:
    said = [shown(value) for value in given.args]
    return ", ".join([*said, *(f"{key}={shown(value)}" for key, value in given.kwargs.items())])
