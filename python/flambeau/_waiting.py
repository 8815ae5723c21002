"""How threads wait for each other; decided before the OpenMP runtime is loaded.

GNU OpenMP's threads spin for milliseconds at the end of a parallel loop. On a machine that does
other work too, that costs far more than the loops themselves (a small network trains 30 times
slower), so they spin for a few microseconds here and sleep after that. OMP_WAIT_POLICY and
GOMP_SPINCOUNT, where the user set them, decide instead.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

SPINS = "GOMP_SPINCOUNT"
FEW = "1000"


@contextmanager
def short_spinning() -> Iterator[None]:
    """While the block runs, an OpenMP runtime that is loaded spins briefly by default."""
    if SPINS in os.environ or "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ[SPINS] = FEW
    try:
        yield
    finally:
        del os.environ[SPINS]  # programs that are started later choose for themselves
