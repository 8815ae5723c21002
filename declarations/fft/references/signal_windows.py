"""SciPy's windows."""

from __future__ import annotations

from typing import Any

from scipy.signal import windows


def window(name: str, *parameters: Any) -> Any:
    """The one of that name."""
    return getattr(windows, name)(*parameters)
