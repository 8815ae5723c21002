# ruff: noqa: F403
# mypy: implicit-reexport
"""The names of `flambeau.distributed`, where programs look for them, too."""

from __future__ import annotations

from flambeau.distributed import *
from flambeau.distributed.rendezvous import rendezvous
from flambeau.distributed.world import default_pg_timeout

__all__ = ["default_pg_timeout", "rendezvous"]
