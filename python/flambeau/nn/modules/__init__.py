# mypy: implicit-reexport
"""Layers by the modules that PyTorch has them in: `nn.modules.conv` is `nn.conv`."""

from __future__ import annotations

import sys

from flambeau.nn import (
    activation,
    adaptive,
    batchnorm,
    conv,
    dropout,
    linear,
    loss,
    normalization,
    pooling,
    rnn,
    transformer,
    upsampling,
)
from flambeau.nn.module import Module
from flambeau.nn.modules import lazy, module

_SAME = (
    *(activation, adaptive, batchnorm, conv, dropout, linear, loss, normalization, pooling, rnn),
    *(transformer, upsampling),
)
_NAMES = [each.__name__.rpartition(".")[2] for each in _SAME]
sys.modules.update({f"{__name__}.{name}": each for name, each in zip(_NAMES, _SAME, strict=True)})

__all__ = ["Module", "lazy", "module", *_NAMES]
