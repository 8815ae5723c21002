"""Names that PyTorch has below `nn.modules`."""

from __future__ import annotations

from flambeau.nn.modules import batchnorm, conv, lazy, module

__all__ = ["batchnorm", "conv", "lazy", "module"]
