"""`fully_shard`, where former programs look for it."""

from __future__ import annotations

from flambeau.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
