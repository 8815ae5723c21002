# mypy: implicit-reexport
"""Stateless forms of the layers: convolutions, activations, losses, attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _C, _lazy
from flambeau._export import names_of, public_members
from flambeau.nn import _reduction as _Reduction  # noqa: F401 - losses of programs ask it
from flambeau.nn.functional.distances import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from flambeau.nn.functional.heads import (
    multi_head_attention_forward as multi_head_attention_forward,
)

globals().update(public_members(_C.nn.functional))

if TYPE_CHECKING:
    from flambeau._C.nn.functional import *  # noqa: F403

from flambeau.nn.functional.projected import (  # noqa: E402 - takes the place of the operator
    linear_cross_entropy as linear_cross_entropy,
)

if not TYPE_CHECKING:
    __all__ = names_of(globals())

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
