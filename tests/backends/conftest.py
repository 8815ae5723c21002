"""The OpenCL backend of python/examples, compiled and loaded; skipped where there is no OpenCL."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

import pytest
from example_packages import install_example

import flambeau

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "operators"))


def _missing() -> str | None:
    """Why the backend cannot be tested here; None where it can."""
    if shutil.which("g++") is None:
        return "there is no C++ compiler"
    try:
        loader = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return "there is no OpenCL loader (Debian: ocl-icd-opencl-dev)"
    count = ctypes.c_uint()
    if loader.clGetPlatformIDs(0, None, ctypes.byref(count)) != 0 or count.value == 0:
        return "there is no OpenCL platform (Debian: pocl-opencl-icd)"
    if not Path("/usr/include/CL/cl.h").exists():
        return "there are no OpenCL headers (Debian: ocl-icd-opencl-dev)"
    return None


REASON = _missing()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if REASON is None:
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="session")
def opencl(shared_folder: Path) -> str:
    """The device's name, once the example is built, installed and found by its entry point."""
    sys.path.insert(0, str(install_example("opencl_backend", shared_folder).folder))
    flambeau.backends.load("opencl")
    return "opencl"
