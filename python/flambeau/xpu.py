"""Intel's GPUs: Flambeau has no backend for them, and says so."""

from __future__ import annotations

from flambeau import _lazy

__path__: list[str] = []  # of parts that are not there: _absent_modules
__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """False.

    Example:
        >>> flambeau.xpu.is_available()
        False
    """
    return False


def device_count() -> int:
    """0.

    Example:
        >>> flambeau.xpu.device_count()
        0
    """
    return 0


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no backend for Intel's GPUs")
