"""The namespace of the Python array API standard, 2024.12 (Consortium for Python Data API
Standards), over tensors: what `Tensor.__array_namespace__()` gives to libraries that compute with
arrays of any kind.

Functions whose meaning differs from Flambeau's are written in this package. Every other name is
that of Flambeau, as it is declared: with the standard's keywords (`axis`, `keepdims`), Python's
numbers on either side, and dtypes promoted whatever the ranks are.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import flambeau
from flambeau._values import brief
from flambeau.array_api import (
    _creation,
    _dtypes,
    _elementwise,
    _info,
    _manipulation,
    _products,
    _reductions,
    _searching,
    fft,
    linalg,
)
from flambeau.array_api._adapted import adapted, written_in

__all__ = ["fft", "linalg", "namespace_of"]

globals().update(
    written_in(_creation, _dtypes, _elementwise, _manipulation, _products, _reductions, _searching)
)

__array_namespace_info__ = _info.ArrayNamespaceInfo
__array_api_version__ = "2024.12"
newaxis = None


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'flambeau.array_api' has no attribute '{name}'", name=name)
    found = adapted(getattr(flambeau, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(flambeau)})


def namespace_of(version: str | None) -> ModuleType:
    """This module, as the namespace of a version of the standard.

    Raises:
        ValueError: it does not know that version.

    Example:
        >>> x = flambeau.ones(2)
        >>> x.__array_namespace__(api_version="2023.12") is namespace_of("2023.12")
        True
    """
    known = ("2021.12", "2022.12", "2023.12", __array_api_version__)
    if version is not None and version not in known:
        raise ValueError(
            f"__array_namespace__(): argument 'api_version' is {brief(version)}, expected one of "
            f"{', '.join(known)}"
        )
    return sys.modules[__name__]
