"""Fourier transforms of the array API standard: those of flambeau.fft, with its keywords."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._adapted import adapted


def __getattr__(name: str) -> Any:
    function = getattr(flambeau.fft, name)
    takes_several = "dim=None" in (getattr(function, "__text_signature__", None) or "")
    found = adapted(function, "axes" if takes_several else "axis")
    globals()[name] = found
    return found
