# mypy: implicit-reexport
"""What lazy modules are made with."""

from __future__ import annotations

from flambeau.nn.lazy import LazyModuleMixin
from flambeau.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin", "is_lazy"]
