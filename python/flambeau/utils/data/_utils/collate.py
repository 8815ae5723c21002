"""How samples become batches."""

from __future__ import annotations

from flambeau.utils.data.collate import (
    collate,
    default_collate,
    default_collate_fn_map,
    default_convert,
)

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]
