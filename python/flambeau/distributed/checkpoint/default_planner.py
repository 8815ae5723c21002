"""How states are divided into entries: by names, each tensor whole, in the file of one process."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


@dataclass
class DefaultSavePlanner:
    """The way that states are saved.

    Args:
        flatten_state_dict, flatten_sharded_tensors, dedup_save_to_lowest_rank: accepted.

    Example:
        >>> from flambeau.distributed.checkpoint import DefaultSavePlanner
        >>> DefaultSavePlanner().flatten_state_dict
        True
    """

    flatten_state_dict: bool = True
    flatten_sharded_tensors: bool = True
    dedup_save_to_lowest_rank: bool = False


@dataclass
class DefaultLoadPlanner:
    """The way that states are loaded.

    Args:
        flatten_state_dict, flatten_sharded_tensors: accepted.
        allow_partial_load: whether what the checkpoint lacks stays as it is.

    Example:
        >>> from flambeau.distributed.checkpoint import DefaultLoadPlanner
        >>> DefaultLoadPlanner(allow_partial_load=True).allow_partial_load
        True
    """

    flatten_state_dict: bool = True
    flatten_sharded_tensors: bool = True
    allow_partial_load: bool = False
