"""Stateless forms of the layers: convolutions, activations, losses, attention."""

from __future__ import annotations

from flambeau import _C
from flambeau._export import names_of, public_members

globals().update(public_members(_C.nn.functional))

# Operators of the main namespace that PyTorch lists here too.
_SHARED = ("cosine_similarity", "hardshrink", "pairwise_distance", "prelu")
globals().update({name: getattr(_C, name) for name in _SHARED})

from flambeau.nn.functional.activation import *  # noqa: E402, F403
from flambeau.nn.functional.attention import *  # noqa: E402, F403
from flambeau.nn.functional.dropout import *  # noqa: E402, F403
from flambeau.nn.functional.normalization import *  # noqa: E402, F403
from flambeau.nn.functional.padding import *  # noqa: E402, F403
from flambeau.nn.functional.pooling import *  # noqa: E402, F403
from flambeau.nn.functional.rows import *  # noqa: E402, F403
from flambeau.nn.functional.shuffle import *  # noqa: E402, F403

__all__ = names_of(globals())
