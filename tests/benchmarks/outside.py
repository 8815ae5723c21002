"""Operators from outside the library: how long loading takes, cold and warm, and calling C.

`python tests/benchmarks/outside.py [--cpus N]`
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

TEXT = """
- op: "softclip(Tensor self, float limit=1) -> Tensor result"
  kind: pointwise
  variants: [function]
  dtypes: {self: float}
  expr: "limit * tanh(self / limit)"
  derivative: auto
"""
LOAD = """
import sys, time
import flambeau
started = time.perf_counter()
flambeau.ops.load(sys.argv[1]).softclip(flambeau.ones(5, 5))
print(time.perf_counter() - started)
"""
FUNCTION = """
#include <Python.h>
#include <cstdint>
extern "C" void noop(int64_t n, float a, const float* x, float* y) {}
static PyObject* bare(PyObject*, PyObject* const*, Py_ssize_t) {
  static float data[25];
  noop(25, 2, data, data);
  Py_RETURN_NONE;
}
static PyMethodDef functions[] = {
    {"bare", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&bare)), METH_FASTCALL, ""},
    {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "bare", nullptr, -1, functions};
PyMODINIT_FUNC PyInit_bare() { return PyModule_Create(&definition); }
"""


def load_seconds(folder: Path) -> tuple[float, float]:
    """First load, and the median of seven later ones in new processes."""
    path = folder / "softclip.yaml"
    path.write_text(TEXT)
    environment = {**os.environ, "FLAMBEAU_CACHE": str(folder / "cache"), "CCACHE_DISABLE": "1"}
    command = [sys.executable, "-c", LOAD, str(path)]

    def run() -> float:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    return run(), statistics.median(run() for _ in range(7))


def call_nanoseconds(folder: Path) -> tuple[float, float]:
    """A bare C function of an extension module, and c_function with two 5x5 tensors."""
    import sysconfig

    import flambeau

    source, library = folder / "bare.cpp", folder / "bare.so"
    source.write_text(FUNCTION)
    include = sysconfig.get_paths()["include"]
    command = ["g++", "-O2", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    sys.path.insert(0, str(folder))
    import bare  # type: ignore[import-not-found]

    declaration = "void noop(int64 n, float32 a, const float32 x[n], float32 y[n])"
    noop = flambeau.ops.c_function(declaration, library)
    x, y = flambeau.ones(5, 5), flambeau.ones(5, 5)
    names = {"bare": bare.bare, "noop": noop, "x": x, "y": y}

    def measure(code: str) -> float:
        times = timeit.repeat(code, globals=names, number=100_000, repeat=9)
        return min(times) / 100_000 * 1e9

    return measure("bare(2.0, x, y)"), measure("noop(2.0, x, y)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpus", type=int, default=2, help="how many processors may be used")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cpus])
    with tempfile.TemporaryDirectory() as name:
        cold, warm = load_seconds(Path(name))
        print(f"flambeau.ops.load, pointwise: cold {cold:.2f} s, warm {warm * 1e3:.1f} ms")
        bare, called = call_nanoseconds(Path(name))
        print(f"c_function, 5x5: {called:.0f} ns, bare C call {bare:.0f} ns")


if __name__ == "__main__":
    main()
