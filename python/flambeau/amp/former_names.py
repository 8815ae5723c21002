"""Settings of autocast under the names that came before `get_autocast_dtype` and its like."""

from __future__ import annotations

import flambeau
from flambeau import _C


def get_autocast_cpu_dtype() -> flambeau.dtype:
    """The former name of `get_autocast_dtype`, of the device "cpu"."""
    return _C.get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: flambeau.dtype) -> None:
    """The former name of `set_autocast_dtype`, of the device "cpu"."""
    _C.set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> flambeau.dtype:
    """The former name of `get_autocast_dtype`, of the device "cuda"."""
    return _C.get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: flambeau.dtype) -> None:
    """The former name of `set_autocast_dtype`, of the device "cuda"."""
    _C.set_autocast_dtype("cuda", dtype)


def is_autocast_cpu_enabled() -> bool:
    """The former name of `is_autocast_enabled`, of the device "cpu"."""
    return flambeau.is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The former name of `set_autocast_enabled`, of the device "cpu"."""
    _C.set_autocast_enabled("cpu", enabled)
