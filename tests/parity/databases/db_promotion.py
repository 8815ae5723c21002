"""Pairs of dtypes of binary entries: tensors, tensors without dims, Python's numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from db_book import Book
from db_carry import caller, constant
from db_operators import names_of
from db_public import NoSuch
from db_samples import Sample, is_tensor

_NUMBERS = (True, 2, 1.5, 1.5j)


def promotion(entry: Any, book: Book) -> None:
    """The results of all pairs."""
    samples = {}
    for name in names_of(entry.supported_dtypes("cpu")):
        dtype = getattr(torch, name)
        try:
            constant(dtype)
        except NoSuch:
            continue
        found = _plain_sample(entry, dtype)
        if found is not None:
            samples[name] = found
    pairs: list[tuple[Any, Any, dict[str, Any]]] = []
    for left in samples.values():
        for right in samples.values():
            pairs.append((left.input, right.args[0], left.kwargs))
            pairs.append((left.input, right.args[0].flatten()[0].clone(), left.kwargs))
        if entry.supports_rhs_python_scalar:
            pairs += [(left.input, number, left.kwargs) for number in _NUMBERS]
    for first, second, keywords in pairs:
        sample = Sample(first, (second,), keywords)
        book.judge(
            "promotion",
            sample.text(entry.name),
            partial(sample.call_theirs, entry.op),
            lambda sample=sample: sample.call_mine(caller(entry, entry.op)),
        )


def _plain_sample(entry: Any, dtype: Any) -> Any:
    """The first sample of two tensors of one shape that are not empty."""
    for sample in entry.sample_inputs("cpu", dtype):
        if is_tensor(sample.input) and len(sample.args) == 1 and is_tensor(sample.args[0]):
            left, right = sample.input, sample.args[0]
            if left.shape == right.shape and 1 < left.numel() < 1000:
                return sample
    return None
