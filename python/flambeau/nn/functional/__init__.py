# mypy: implicit-reexport
"""Stateless forms of the layers: convolutions, activations, losses, attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _C
from flambeau._export import names_of, public_members

globals().update(public_members(_C.nn.functional))

# Operators of the main namespace that PyTorch lists here too.
_SHARED = (
    *("celu_", "cosine_similarity", "hardshrink", "pairwise_distance", "prelu", "relu_", "selu_"),
    "threshold_",
)
globals().update({name: getattr(_C, name) for name in _SHARED})

from flambeau.nn.functional.activation import *  # noqa: E402, F403
from flambeau.nn.functional.attention import *  # noqa: E402, F403
from flambeau.nn.functional.dropout import *  # noqa: E402, F403
from flambeau.nn.functional.normalization import *  # noqa: E402, F403
from flambeau.nn.functional.padding import *  # noqa: E402, F403
from flambeau.nn.functional.pooling import *  # noqa: E402, F403
from flambeau.nn.functional.rows import *  # noqa: E402, F403
from flambeau.nn.functional.shuffle import *  # noqa: E402, F403

if TYPE_CHECKING:
    from flambeau._C.nn.functional import *  # type: ignore[assignment]  # noqa: F403

if not TYPE_CHECKING:
    __all__ = names_of(globals())
