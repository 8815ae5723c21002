"""The argument `out` of entries that have it: as it should be, empty, strided, of another dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from db_book import Book, attempt
from db_carry import function
from db_compare import Difference, difference, shown, tensors
from db_samples import Sample

import flambeau

Make = Callable[[Any, tuple[int, ...], Any], Any]


def _same(library: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return library.ones(shape, dtype=dtype)


def _empty(library: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return library.ones(0, dtype=dtype)


def _strided(library: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return library.ones((*shape, 2), dtype=dtype)[..., 1]


def _integers(library: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return library.ones(shape, dtype=library.int64)


_WAYS: dict[str, Make] = {"": _same, "empty": _empty, "strided": _strided, "int64": _integers}


def outputs(
    entry: Any,
    book: Book,
    theirs: Callable[..., Any],
    mine: Callable[[], Callable[..., Any]],
    samples: Iterable[Sample],
) -> None:
    """All ways for every sample, in turns."""
    for number, sample in enumerate(samples):
        expected, error = attempt(partial(sample.call_theirs, theirs))
        if error is not None or not _is_result(expected):
            continue
        ways = list(_WAYS.items())
        for word, make in [ways[0], ways[1 + number % (len(ways) - 1)]]:
            book.judge(
                "out",
                sample.text(entry.name, f"out={word} {shown(expected)}"),
                lambda sample=sample, make=make, expected=expected: _run(
                    torch, sample.call_theirs, theirs, make, expected
                ),
                lambda sample=sample, make=make, expected=expected: _run(
                    flambeau, sample.call_mine, mine(), make, expected
                ),
                strict=True,
                compare=partial(_compare, sample),
            )


def _is_result(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(item, torch.Tensor) for item in value)
    return isinstance(value, torch.Tensor)


def _run(library: Any, call: Any, function: Any, make: Make, like: Any) -> tuple[Any, bool]:
    """What was written, and whether it was returned."""
    several = isinstance(like, tuple)
    made = tuple(_made(library, make, one) for one in (like if several else (like,)))
    result = call(function, out=made if several else made[0])
    returned = tuple(result) if several else (result,)
    same = all(a is b for a, b in zip(made, returned, strict=True))
    return (made if several else made[0]), same


def _made(library: Any, make: Make, like: Any) -> Any:
    dtype = getattr(library, str(like.dtype).removeprefix("torch."))
    return make(library, tuple(like.shape), dtype)


def _compare(sample: Sample, theirs: Any, mine: Any, form: bool) -> Difference | None:
    found = up_to_choice(sample, theirs[0], mine[0], form)
    if found is None and theirs[1] and not mine[1]:
        return Difference("structure: out is not returned", "out", "another object")
    return found


def up_to_choice(sample: Sample, theirs: Any, mine: Any, form: bool) -> Difference | None:
    """Results of decompositions may have other signs: then what the database derives is compared.
    Indices are no such results.
    """
    found = difference(theirs, mine, form=form)
    several = isinstance(theirs, tuple) and len(theirs) > 1
    if found is None or form or not several or sample.process is None:
        return found
    if not all(one.dtype.is_floating_point or one.dtype.is_complex for one in tensors(theirs)):
        return found
    if difference(theirs, mine, form=True) is not None:
        return found
    return difference(sample.process(theirs), function(sample.process)(mine), 10.0)
