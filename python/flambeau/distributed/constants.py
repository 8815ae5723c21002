# mypy: implicit-reexport
"""How long calls of a group may take where nobody says."""

from __future__ import annotations

from flambeau.distributed.world import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout = default_pg_timeout
"""Of a backend that there is not."""
