"""Groups without processes that have failed, of which there are none."""

from __future__ import annotations

from typing import Any

from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.world import member


def shrink_group(
    ranks_to_exclude: list[int],
    group: ProcessGroup | None = None,
    shrink_flags: int = 0,
    pg_options: Any = None,
) -> ProcessGroup:
    """Would go on without some processes, in the midst of calls: no group of "gloo" can.

    `new_group(ranks, use_local_synchronization=True)` makes a group of the others, where all of
    them are well.

    Args:
        ranks_to_exclude: the processes to leave out.
        group: of which group; None: of all processes.
        shrink_flags, pg_options: of no meaning.

    Raises:
        TypeError: always, for sound arguments: the group cannot; or the ranks are no list of int.
        ValueError: there are no such ranks, or nobody would be left.

    Example:
        >>> flambeau.distributed.shrink_group([1])  # in each of two processes
        Traceback (most recent call last):
            ...
        TypeError: shrink_group: groups of 'gloo' cannot shrink; new_group([0], ...
    """
    if not isinstance(ranks_to_exclude, list) or not all(
        isinstance(rank, int) for rank in ranks_to_exclude
    ):
        raise TypeError(
            f"shrink_group: ranks_to_exclude must be a list of int, got {ranks_to_exclude!r}"
        )
    whole = member(group)
    if whole is None:
        raise ValueError("shrink_group: this process is no member of group")
    left = [rank for rank in range(whole.size()) if rank not in ranks_to_exclude]
    if not ranks_to_exclude or len(left) + len(ranks_to_exclude) != whole.size() or not left:
        raise ValueError(
            "shrink_group: ranks_to_exclude must be different, some and not all of "
            f"[0, {whole.size() - 1}], got {ranks_to_exclude}"
        )
    others = [whole.ranks[rank] for rank in left]
    raise TypeError(
        f"shrink_group: groups of 'gloo' cannot shrink; new_group({others}, "
        "use_local_synchronization=True) makes a group of the others"
    )
