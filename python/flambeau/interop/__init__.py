"""Exchange with other libraries that are installed beside Flambeau."""

from __future__ import annotations

import typing as _typing

from flambeau import _lazy

__all__ = ["torch"]

if _typing.TYPE_CHECKING:
    from flambeau.interop import torch as torch
else:
    __getattr__, __dir__ = _lazy.submodules(globals(), ("torch",))
