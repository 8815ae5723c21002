"""Entries of op_db: forward results of every variant, dtypes, reference inputs, errors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch
from db_book import Book, attempt
from db_carry import caller, constant, function
from db_compare import Difference, difference, strides, tensors
from db_outputs import outputs, up_to_choice
from db_public import NoSuch
from db_samples import Sample, is_tensor, sample_of, some
from db_tally import Unit

# Cases of an entry: of the first dtype, of the others, of reference inputs.
FORWARD, OTHERS, REFERENCE, VARIANTS, FEW = 60, 10, 100, 20, 3
_FIRST = ("float32", "float64", "complex64", "int64", "bool")
_REFERENCES = ("float32", "int64", "bool", "complex64", "float16")


@cache
def database() -> list[Any]:
    """All entries."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: list[Any] = op_db
    return found


def is_portable(entry: Any) -> bool:
    """Whether it is of the public interface, and runs on a CPU."""
    hidden = any(p.startswith("_") and not p.endswith("__") for p in entry.name.split("."))
    internal = type(entry.op).__module__.startswith(("torch._ops", "torch.cuda"))
    return not hidden and not internal and bool(entry.supported_dtypes("cpu"))


def title(entry: Any) -> str:
    """The entry's name with its variant."""
    variant = entry.variant_test_name
    return f"{entry.name}[{variant}]" if variant else str(entry.name)


def names_of(dtypes: Any) -> list[str]:
    """Dtypes as words, in an order that stays."""
    return sorted(str(dtype).removeprefix("torch.") for dtype in dtypes)


def units() -> Iterator[Unit]:
    """The parts of all entries."""
    for number, entry in enumerate(database()):
        if not is_portable(entry):
            continue
        make = partial(Unit, "op_db", number, title(entry))
        dtypes = names_of(entry.supported_dtypes("cpu"))
        first = next((name for name in _FIRST if name in dtypes), dtypes[0])
        yield make("first", first)
        for name in dtypes:
            if name != first:
                yield make("dtype", name)
        if entry.reference_inputs_func is not None:
            for name in _REFERENCES:
                if name in dtypes:
                    yield make("reference", name)
        if entry.supports_autograd:
            for name in names_of(entry.supported_backward_dtypes("cpu")):
                yield make("gradient", name)
        if entry.error_inputs_func is not None:
            yield make("errors")
        if hasattr(entry, "supports_rhs_python_scalar"):
            yield make("promotion")


def first(entry: Any, book: Book) -> None:
    """All variants with samples of one dtype."""
    dtype = getattr(torch, book.unit.dtype)
    # Samples share tensors, some of which are written to: each goes over when it is used.
    found = some(entry.sample_inputs("cpu", dtype), FORWARD)
    fewer = some(found, VARIANTS)
    on_tensors = [s for s in fewer if is_tensor(s.input)]
    theirs, mine = entry.op, _lookup(entry)
    forward(book, "forward", entry.name, theirs, mine, map(sample_of, found), with_strides=True)
    method = entry.get_method()
    if method is not None:
        given = map(sample_of, on_tensors)
        forward(book, "method", f"Tensor.{entry.name}", method, _later(method), given)
    variant = entry.get_operator()
    if variant is not None and variant in vars(operator).values():
        bare = (sample_of(s) for s in fewer if not s.kwargs)
        forward(book, "operator", f"operator.{entry.name}", variant, lambda: variant, bare)
    in_place(entry, book, fewer)
    if entry.supports_out:
        outputs(entry, book, theirs, mine, map(sample_of, fewer))
    for alias in entry.aliases:
        given = map(sample_of, fewer)
        name = alias.name.removeprefix("torch.")
        forward(book, "aliases", name, alias.op, _later(alias.op, name), given)
        method = alias.method_variant
        if method is not None:
            given = map(sample_of, on_tensors)
            forward(book, "aliases", f"Tensor.{alias.name}", method, _later(method), given)
    apart = [attempt(s.noncontiguous)[0] for s in fewer]  # sparse ones are never contiguous
    forward(book, "non-contiguous", entry.name, theirs, mine, map(sample_of, filter(None, apart)))


def other(entry: Any, book: Book) -> None:
    """Samples of another dtype."""
    dtype = getattr(torch, book.unit.dtype)
    try:
        constant(dtype)
    except NoSuch as error:
        return book.lacks("dtypes", error)
    found = some(entry.sample_inputs("cpu", dtype), OTHERS)
    forward(book, "dtypes", entry.name, entry.op, _lookup(entry), map(sample_of, found))
    return in_place(entry, book, some(found, FEW))


def reference(entry: Any, book: Book) -> None:
    """Extreme, empty, broadcast, strided inputs, mixed dtypes."""
    dtype = getattr(torch, book.unit.dtype)
    found = some(entry.reference_inputs("cpu", dtype), REFERENCE)
    forward(book, "reference", entry.name, entry.op, _lookup(entry), map(sample_of, found))


def errors(entry: Any, book: Book) -> None:
    """What must raise."""
    mine = _lookup(entry)
    for one in entry.error_inputs("cpu"):
        sample = sample_of(one.sample_input)
        book.must_raise(
            "errors",
            sample.text(entry.name),
            partial(sample.call_theirs, entry.op),
            lambda sample=sample: sample.call_mine(mine()),
        )


def forward(
    book: Book,
    category: str,
    name: str,
    theirs: Callable[..., Any],
    mine: Callable[[], Callable[..., Any]],
    samples: Any,
    with_strides: bool = False,
) -> None:
    """The same call of every sample; `mine` finds Flambeau's function."""
    results: list[Any] = [None, None]

    def of_theirs(sample: Sample) -> Any:
        results[0] = sample.call_theirs(theirs)
        return results[0]

    def of_mine(sample: Sample) -> Any:
        results[1] = sample.call_mine(mine())
        return results[1]

    for sample in samples:
        results[:] = None, None
        text = sample.text(name)
        runs = partial(of_theirs, sample), partial(of_mine, sample)
        agree = book.judge(category, text, *runs, compare=partial(up_to_choice, sample))
        if agree and with_strides and any(True for _ in tensors(results[0])):
            found = strides(*results)
            if found is None:
                book.count("strides", "pass")
            else:
                book.fail("strides", text, found)


def in_place(entry: Any, book: Book, raw: list[Any]) -> None:
    """The variant that writes to its first argument, as a method and as an operator."""
    for kind, variant in (
        ("in-place", entry.get_inplace()),
        ("operator", entry.get_inplace_operator()),
    ):
        if variant is None:
            continue
        name = f"{entry.name}_" if kind == "in-place" else entry.name
        mine = _later(variant) if kind == "in-place" else (lambda variant=variant: variant)
        for one in raw:
            if not is_tensor(one.input) or (kind == "operator" and one.kwargs):
                continue
            sample = sample_of(one)
            book.judge(
                kind,
                sample.text(f"Tensor.{name}" if kind == "in-place" else f"operator.{name}"),
                lambda sample=sample, variant=variant: _written(
                    variant, sample.theirs, sample.keywords
                ),
                lambda sample=sample, mine=mine: _written(mine(), sample.mine, sample.own_keywords),
                strict=True,
                compare=_same_object,
            )


def _written(
    variant: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, bool]:
    target = args[0].clone()
    result = variant(target, *args[1:], **keywords)
    return target, result is target


def _same_object(theirs: Any, mine: Any, form: bool) -> Difference | None:
    """Also whether what is returned is what was written to."""
    found = difference(theirs[0], mine[0], form=form)
    if found is None and theirs[1] and not mine[1]:
        return Difference("structure: another object is returned", "the written one", "another")
    return found


def _lookup(entry: Any) -> Callable[[], Callable[..., Any]]:
    return lambda: caller(entry, entry.op)


def _later(value: Any, likely: str = "") -> Callable[[], Callable[..., Any]]:
    return lambda: function(value, likely)
