# mypy: implicit-reexport
"""Networks and optimizers in the style of Lua Torch, as the first releases of PyTorch had them:
modules that keep their own gradients, and optimizers that are functions.
"""

from __future__ import annotations

from flambeau.legacy import nn, optim

__all__ = ["nn", "optim"]
