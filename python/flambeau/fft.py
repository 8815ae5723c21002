# mypy: implicit-reexport
"""Discrete Fourier transforms: what the declarations put into the namespace `fft`."""

from __future__ import annotations

import sys as _sys
import types as _types
from typing import TYPE_CHECKING

from flambeau import _C, _lazy
from flambeau._export import names_of, public_members

if TYPE_CHECKING:
    from flambeau._C.fft import *  # noqa: F403

globals().update(public_members(_C.fft))

if not TYPE_CHECKING:
    __all__ = names_of(globals())
    __getattr__ = _lazy.missing(__name__)


class _Callable(_types.ModuleType):
    """The module, which former programs call: fft(x, signal_ndim) of pairs."""

    def __call__(self, input: _C.Tensor, signal_ndim: int, normalized: bool = False) -> _C.Tensor:
        return input.fft(signal_ndim, normalized)


_sys.modules[__name__].__class__ = _Callable
