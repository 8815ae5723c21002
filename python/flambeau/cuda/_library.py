"""libflambeau_cuda.so: found, loaded and called. It registers its kernels when it loads."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import flambeau

ENVIRONMENT = "FLAMBEAU_CUDA_LIBRARY"


def path() -> Path:
    """Where the library lies: beside libflambeau.so, or where FLAMBEAU_CUDA_LIBRARY says."""
    named = os.environ.get(ENVIRONMENT)
    beside = Path(flambeau.__file__).parent / "lib" / "libflambeau_cuda.so"
    return Path(named) if named else beside


@cache
def load() -> ctypes.CDLL | None:
    """The library; None where it is not installed. RuntimeError if it is for another Flambeau."""
    file = path()
    if not file.exists():
        return None
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise RuntimeError(f"The CUDA backend {file} cannot be loaded: {error}") from None
    for name in ("flambeau_cuda_error", "flambeau_cuda_load_failures"):
        getattr(library, name).restype = ctypes.c_char_p
    failures = library.flambeau_cuda_load_failures().decode()
    if failures:
        raise RuntimeError(f"The CUDA backend {file} was built for another Flambeau:\n{failures}")
    return library


def load_kernels(file: str) -> None:
    """Loads the kernels of a package of operators, which register themselves. Nothing happens
    where the backend is not installed, or does not load: importing flambeau has said so.

    Raises:
        ImportError: for kernels that were built for another Flambeau.
    """
    try:
        backend = load()
    except RuntimeError:
        return
    if backend is None:
        return
    try:
        ctypes.CDLL(file)
    except OSError as error:
        raise ImportError(f"The CUDA kernels {file} cannot be loaded: {error}") from None
    failures = backend.flambeau_cuda_load_failures().decode()
    if failures:
        raise ImportError(f"The CUDA kernels {file} do not fit their package:\n{failures}")


def call(name: str, *arguments: Any) -> None:
    """Calls flambeau_cuda_NAME; its error becomes a RuntimeError."""
    library = load()
    if library is None:
        raise RuntimeError(f"CUDA is not available: {path()} is not installed")
    if getattr(library, f"flambeau_cuda_{name}")(*arguments) != 0:
        raise RuntimeError(library.flambeau_cuda_error().decode())


def device_count() -> int:
    """Devices that can be used; 0 without the library, a driver or a GPU.

    Example:
        >>> flambeau.accelerator.device_count() == flambeau.cuda.device_count()
        True
    """
    library = load()
    return 0 if library is None else int(library.flambeau_cuda_device_count())
