"""Warnings of what a call most likely does not mean, which no entry declares."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.utils.data import DataLoader

CORES = len(os.sched_getaffinity(0))


def _load_into_nothing(**keywords: Any) -> None:
    nn.Linear(2, 3, device="meta").load_state_dict(nn.Linear(2, 3).state_dict(), **keywords)


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "dropout between layers that there is one of": (
        lambda: nn.LSTM(2, 3, dropout=0.5),
        r"LSTM: dropout=0\.5 does nothing",
    ),
    "another number of channels": (
        lambda: nn.InstanceNorm1d(4)(flambeau.ones(2, 3, 5)),
        r"InstanceNorm1d: expected num_features=4 channels in dim 1, got shape \(2, 3, 5\)",
    ),
    "loading into meta tensors": (_load_into_nothing, r"weight is a meta tensor"),
    "an iterator that is used up": (
        lambda: nn.utils.clip_grad_norm_(iter([]), 1.0),
        r"clip_grad_norm_: the iterator of parameters gives none",
    ),
    "more processes than processors": (
        lambda: DataLoader([1], num_workers=CORES + 1),
        rf"DataLoader: {CORES + 1} processes load batches, and this one may use {CORES}",
    ),
    "the transpose of what is no matrix": (
        lambda: flambeau.ones(2, 3, 4).T,
        r"Tensor\.T: of a tensor of shape \[2, 3, 4\] all dims are reversed; if matrices",
    ),
}

QUIET: dict[str, Callable[[], Any]] = {
    "dropout between layers": lambda: nn.LSTM(2, 3, 2, dropout=0.5),
    "as many channels": lambda: nn.InstanceNorm1d(3)(flambeau.ones(2, 3, 5)),
    "tensors in the place of meta tensors": lambda: _load_into_nothing(assign=True),
    "no parameters": lambda: nn.utils.clip_grad_norm_([], 1.0),
    "as many processes": lambda: DataLoader([1], num_workers=CORES),
    "the transpose of a matrix": lambda: flambeau.ones(2, 3).T,
}


@pytest.mark.parametrize("name", CASES)
def test_the_line_of_the_program_is_named(name: str) -> None:
    call, message = CASES[name]
    with pytest.warns(UserWarning, match=message) as seen:
        call()
    assert seen[0].filename == __file__ or "load" in name


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_is_well(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        QUIET[name]()
