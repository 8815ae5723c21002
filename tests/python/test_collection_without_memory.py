"""Garbage is collected where memory has run out, and the process goes on."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import gc, resource, flambeau
x = flambeau.ones(3, requires_grad=True)
y = x * 1
y.holder = [y]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (160 << 20),) * 2)
try:
    while True:
        y = y * 2
        y.holder = [y]
except (MemoryError, flambeau.OutOfMemoryError):
    gc.collect()
del y
gc.collect()
print((x * 2).sum().item())
"""


def test_a_graph_as_large_as_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "6.0\n"
