"""First and second gradients, forward mode, gradients of in-place variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from db_book import Book
from db_carry import caller, constant, function
from db_compare import Difference, difference, tensors
from db_public import NoSuch
from db_samples import Sample, is_tensor, sample_of, some

import flambeau

EXACT, COARSE, SECOND = 30, 4, 12
_EXACT = ("float64", "complex128")
# Gradients of gradients subtract numbers that are nearly equal.
FIRST_LOOSE, SECOND_LOOSE = 10.0, 100.0
Function = Callable[..., Any]


def gradients(entry: Any, book: Book) -> None:
    """All that is derived of samples of one dtype."""
    exact = book.unit.dtype in _EXACT
    dtype = getattr(torch, book.unit.dtype)
    try:
        constant(dtype)
    except NoSuch as error:
        return book.lacks("gradient", error)
    count = EXACT if exact else COARSE
    found = some(entry.sample_inputs("cpu", dtype, requires_grad=True), count)
    theirs = partial(entry.gradcheck_wrapper, entry.op)

    def mine() -> Function:
        return partial(function(entry.gradcheck_wrapper), caller(entry, entry.op))

    for one in found:
        _first(book, "gradient", entry.name, one, theirs, mine)
    inplace = entry.get_inplace()
    if exact and inplace is not None and entry.supports_inplace_autograd:
        fit = [s for s in found if is_tensor(s.input) and not s.broadcasts_input]
        for one in some(fit, SECOND):
            _first(
                book, "in-place gradient", f"{entry.name}_", one,
                partial(_cloning, inplace), lambda: partial(_cloning, function(inplace)),
            )  # fmt: skip
    if exact and entry.supports_gradgrad:
        for one in some(found, SECOND):
            _second(book, entry.name, one, theirs, mine)
    if exact and entry.supports_forward_ad:
        for one in some(found, SECOND):
            _forward_mode(book, entry.name, one, theirs, mine)
    return None


def _cloning(inplace: Function, first: Any, *args: Any, **kwargs: Any) -> Any:
    return inplace(first.clone(), *args, **kwargs)


def _first(
    book: Book, category: str, name: str, one: Any, theirs: Function, mine: Callable[[], Function]
) -> None:
    sample = sample_of(one)
    process = one.output_process_fn_grad
    book.judge(
        category,
        sample.text(name),
        lambda: _derived(torch, sample, theirs, process, False),
        lambda: _derived(flambeau, sample, mine(), function(process), False),
        compare=partial(_compare, FIRST_LOOSE),
    )


def _second(
    book: Book, name: str, one: Any, theirs: Function, mine: Callable[[], Function]
) -> None:
    sample = sample_of(one)
    process = one.output_process_fn_grad
    book.judge(
        "second gradient",
        sample.text(name),
        lambda: _derived(torch, sample, theirs, process, True),
        lambda: _derived(flambeau, sample, mine(), function(process), True),
        compare=partial(_compare, SECOND_LOOSE),
    )


def _compare(loose: float, theirs: Any, mine: Any, form: bool) -> Difference | None:
    return difference(theirs, mine, loose, form)


# One library -------------------------------------------------------------------------------------


def _call(library: Any, sample: Sample, run: Function, process: Function) -> tuple[Any, list[Any]]:
    """The processed result, and what it may be derived by."""
    if library is torch:
        result, given = sample.call_theirs(run), (sample.theirs, sample.keywords)
    else:
        result, given = sample.call_mine(run), (sample.mine, sample.own_keywords)
    leaves = [tensor for tensor in tensors(list(given)) if tensor.requires_grad]
    return process(result), leaves


def _derived(
    library: Any, sample: Sample, run: Function, process: Function, twice: bool
) -> list[Any]:
    """A gradient for every leaf; where there is none, zeros."""
    result, leaves = _call(library, sample, run, process)
    found = _grad(library, list(tensors(result)), leaves, create=twice)
    return _grad(library, found, leaves, create=False) if twice else found


def _grad(library: Any, results: Sequence[Any], leaves: Sequence[Any], create: bool) -> list[Any]:
    outputs = [(i, one) for i, one in enumerate(results) if one.requires_grad]
    if not outputs:
        return [library.zeros_like(leaf).to_dense() for leaf in leaves]
    found = library.autograd.grad(
        [one for _, one in outputs],
        list(leaves),
        [direction(library, one, i) for i, one in outputs],
        create_graph=create,
        allow_unused=True,
    )
    made = [
        library.zeros_like(leaf) if one is None else one
        for one, leaf in zip(found, leaves, strict=True)
    ]
    # Of a sparse leaf PyTorch has a strided gradient where it was given one.
    return [
        one if leaf.layout is library.strided or one.layout is library.strided else one.to_dense()
        for one, leaf in zip(made, leaves, strict=True)
    ]


def direction(library: Any, like: Any, key: int) -> Any:
    """Numbers of the shape and dtype of a tensor, the same for both libraries."""
    draw = np.random.default_rng(key)
    shape = tuple(like.shape)
    values = np.asarray(draw.integers(-8, 9, shape) / 8)
    if like.dtype.is_complex:
        values = values + 1j * draw.integers(-8, 9, shape) / 8
    found = library.from_numpy(np.array(values)).to(like.dtype)
    # Flambeau asks for a gradient of the layout; of CSR PyTorch takes none but a strided one.
    if like.layout is flambeau.sparse_csr:
        return found.sparse_mask(like.detach())
    if like.layout is torch.sparse_csr:
        places = like.detach().to_sparse_coo().coalesce().indices()
        return found.sparse_mask(
            torch.sparse_coo_tensor(places, torch.ones(places.shape[1]), like.shape)
        ).to_dense()
    return found


def _forward_mode(
    book: Book, name: str, one: Any, theirs: Function, mine: Callable[[], Function]
) -> None:
    sample = sample_of(one)
    process = one.output_process_fn_grad
    book.judge(
        "forward mode",
        sample.text(name),
        lambda: _tangents(torch, sample.theirs, sample.keywords, theirs, process),
        lambda: _tangents(flambeau, sample.mine, sample.own_keywords, mine(), function(process)),
        compare=partial(_compare, FIRST_LOOSE),
    )


def _tangents(
    library: Any, args: Any, keywords: Any, run: Function, process: Function
) -> list[Any]:
    """The tangents of all results along fixed directions."""
    forward_ad = library.autograd.forward_ad
    made = 0

    def dual(value: Any) -> Any:
        nonlocal made
        if isinstance(value, library.Tensor) and value.requires_grad:
            made += 1
            plain = value.detach()
            return forward_ad.make_dual(plain, direction(library, plain, made))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(dual, value))
        if isinstance(value, list | tuple):
            return type(value)(map(dual, value))
        return value

    with forward_ad.dual_level():
        given = {key: dual(value) for key, value in keywords.items()}
        result = process(run(*map(dual, args), **given))
        found = []
        for tensor in tensors(result):
            if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
                tangent = forward_ad.unpack_dual(tensor).tangent
                found.append(library.zeros_like(tensor) if tangent is None else tangent)
        return [tensor.detach() for tensor in found]
