"""ONNX: Flambeau neither writes nor reads it."""

from __future__ import annotations

from flambeau import _lazy

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False: there is no export.

    Example:
        >>> flambeau.onnx.is_in_onnx_export()
        False
    """
    return False


__getattr__ = _lazy.unavailable(
    __name__, "Flambeau does not write ONNX, which needs traces of programs"
)
