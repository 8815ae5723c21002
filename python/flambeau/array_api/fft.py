"""Fourier transforms of the array API standard: those of flambeau.fft, with its keywords."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._adapted import adapted


def __getattr__(name: str) -> Any:
    found = adapted(getattr(flambeau.fft, name))
    globals()[name] = found
    return found
