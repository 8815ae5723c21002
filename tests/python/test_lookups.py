"""Attributes that native code looks up leave nothing behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import numpy as np
import pytest

import flambeau

LOOKUPS: dict[str, Callable[[], object]] = {
    "iter": lambda: iter(flambeau.ones(3)),
    "asarray": lambda: np.asarray(flambeau.ones(3)),
    "astype": lambda: np.asarray(flambeau.ones(3), dtype=np.int32),
    "force": lambda: flambeau.ones(3, requires_grad=True).numpy(force=True),
    "as_tensor": lambda: flambeau.as_tensor(flambeau.ones(3), dtype=flambeau.int32),
    "from_dlpack": lambda: flambeau.from_dlpack(flambeau.ones(3)),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_lookups_leave_no_names(name: str) -> None:
    """The interpreter keeps every object that an attribute was looked up by: it must be one."""
    for _ in range(20):
        LOOKUPS[name]()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(100):
        LOOKUPS[name]()
    gc.collect()
    assert sys.getallocatedblocks() - before < 10
