"""Functions of other libraries that kernels call: LAPACK and BLAS, in the build of SciPy's wheel.

SciPy offers them to Cython as capsules. Only the two modules that hold these are loaded, when an
operator first needs one: importing scipy.linalg would take some thirty times as long.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

_MODULES = {"lapack": "cython_lapack", "blas": "cython_blas"}
_NEEDED = "flambeau.linalg computes with the LAPACK that SciPy carries"
_lock = threading.Lock()


def find(library: str, name: str) -> Any:
    """The capsule of a function such as `find("lapack", "dpotrf")`. Called on any thread."""
    with _lock:
        functions = _module(_MODULES[library]).__dict__["__pyx_capi__"]
    if name not in functions:
        raise RuntimeError(
            f"the installed SciPy's {library} has no {name}: SciPy 1.11 or newer is needed"
        )
    return functions[name]


def _module(name: str) -> ModuleType:
    """The one of that name. It cannot be loaded twice: SciPy finds it among the loaded modules when
    it wants it, and so does this.
    """
    full_name = f"scipy.linalg.{name}"
    if full_name in sys.modules:
        return importlib.import_module(full_name)  # waits for a thread that is at it
    folder = _folder(full_name)
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"{name}{suffix}"
        spec = importlib.util.spec_from_file_location(full_name, path)
        if path.is_file() and spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            sys.modules[full_name] = module
            spec.loader.exec_module(module)
            return module
    raise RuntimeError(f"{_NEEDED}, and there is no {name} in {folder}")


def _folder(module: str) -> Path:
    """Where SciPy keeps it; SciPy itself is not imported."""
    spec = importlib.util.find_spec("scipy")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{_NEEDED}, which is not installed: pip install 'scipy>=1.11'")
    return Path(spec.origin).parent.joinpath(*module.split(".")[1:-1])


def _renew_lock() -> None:
    """In a forked child, where the thread that held it is gone."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
