# mypy: implicit-reexport
"""Comparing tensors in tests, and making some."""

from __future__ import annotations

from flambeau.testing._comparison import assert_allclose, assert_close
from flambeau.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
