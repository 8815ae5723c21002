"""What the processes of a group do together beyond one call: ending at different times, averaging
gradients in other ways.
"""

from __future__ import annotations

from flambeau.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
