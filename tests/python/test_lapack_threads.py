"""LAPACK computes small matrices on the thread that asks, and what a program set holds after."""

from __future__ import annotations

import ctypes
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau


def openblas() -> Any:
    """The library behind SciPy's LAPACK, which the first use of it loads."""
    flambeau.linalg.eigh(flambeau.eye(20))
    maps = Path("/proc/self/maps").read_text()
    found = re.findall(r"(\S*/scipy\.libs/\S*openblas\S*\.so\S*)", maps)
    if not found:
        pytest.skip("SciPy is not built with OpenBLAS")
    return ctypes.CDLL(found[0])


def test_the_number_of_threads_is_what_it_was() -> None:
    library = openblas()
    before = library.scipy_openblas_get_num_threads()
    x = flambeau.tensor(np.random.default_rng(0).normal(size=(60, 60)))
    try:
        library.scipy_openblas_set_num_threads(2)
        with pytest.raises(RuntimeError, match="not positive"):
            flambeau.linalg.cholesky(-flambeau.eye(40))
        workers = [threading.Thread(target=flambeau.linalg.svdvals, args=(x,)) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert library.scipy_openblas_get_num_threads() == 2
    finally:
        library.scipy_openblas_set_num_threads(before)
