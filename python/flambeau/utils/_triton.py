"""Whether kernels may be written in Triton: what libraries ask before they choose their own."""

from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """False: kernels are declared, or functions of C++; see flambeau.ops.load.

    Example:
        >>> from flambeau.utils._triton import has_triton
        >>> has_triton()
        False
    """
    return False


has_triton_package = has_triton
