"""oneDNN: Flambeau's kernels are its own, and do not call it.

The switches can be set and read; no kernel is chosen by them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["deterministic", "enabled", "flags", "is_available"]

enabled = True
deterministic = False


def is_available() -> bool:
    """False.

    Example:
        >>> flambeau.backends.mkldnn.is_available()
        False
    """
    return False


@contextlib.contextmanager
def flags(enabled: bool = False, deterministic: bool = False) -> Iterator[None]:
    """Sets the switches for the time of a block.

    Args:
        enabled, deterministic: the two switches.

    Example:
        >>> from flambeau.backends import mkldnn
        >>> with mkldnn.flags(enabled=False):
        ...     print(mkldnn.enabled)
        False
        >>> mkldnn.enabled
        True
    """
    known = globals()
    before = known["enabled"], known["deterministic"]
    known.update(enabled=enabled, deterministic=deterministic)
    try:
        yield
    finally:
        known["enabled"], known["deterministic"] = before
