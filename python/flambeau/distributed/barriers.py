"""Calls that wait for all processes of a group."""

from __future__ import annotations

import pdb
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

from flambeau.distributed import patterns
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.process_group import Results
from flambeau.distributed.wire import seconds
from flambeau.distributed.work import Work
from flambeau.distributed.world import Group, joined, member


def barrier(
    group: Group = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Waits until all processes of a group have come here.

    Args:
        group, async_op: as of `all_reduce`.
        device_ids: of no meaning.
        timeout: None: the group's.

    Example:
        >>> work = flambeau.distributed.barrier(async_op=True)  # in each of two processes
        >>> work.wait()
        True
    """
    found = joined(group, "barrier")
    if found is None:
        return None
    return found.call("barrier()", patterns.barrier, Results([]), async_op, timeout)


def monitored_barrier(
    group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that says who has not come.

    Args:
        group: of processes; None: all.
        timeout: None: the group's.
        wait_all_ranks: name all who are missing, else the first.

    Raises:
        RuntimeError: some did not come in time; rank 0 names them.

    Example:
        >>> import datetime
        >>> soon = datetime.timedelta(seconds=0.1)
        >>> rank, said = flambeau.distributed.get_rank(), ""  # in each of two processes
        >>> if rank == 0:
        ...     try:
        ...         flambeau.distributed.monitored_barrier(timeout=soon)  # rank 1 does not come
        ...     except RuntimeError as error:
        ...         said = str(error)
        >>> ("Rank 1 failed to pass" in said) == (rank == 0)
        True
    """
    found = member(group)
    if found is None:
        joined(group, "monitored_barrier")
        return
    limit = found.timeout if timeout is None else timeout

    def act(x: Any) -> None:
        missing = [found.ranks[i] for i in patterns.monitored_barrier(x, wait_all_ranks)]
        if missing:
            words = "Ranks" if len(missing) > 1 else "Rank"
            raise DistBackendError(
                f"monitored_barrier: {words} {', '.join(map(str, missing))} failed to pass "
                f"monitoredBarrier in {seconds(limit) * 1000:.0f} ms"
            )

    found.call("monitored_barrier()", act, Results([]), False, limit)


_passed: Counter[tuple[str, int]] = Counter()


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: int = 3600) -> None:
    """Stops one process in Python's debugger; the others wait for it.

    Args:
        rank: of the process.
        skip: how often this line of the program does nothing before.
        timeout_s: seconds that the others wait.

    Raises:
        DistBackendError: the debugger was left by ending the process, or too late.

    Example:
        >>> for step in range(3):  # in each of two processes
        ...     flambeau.distributed.breakpoint(rank=1, skip=3)  # would stop in the fourth step
    """
    frame = sys._getframe(1)
    place = frame.f_code.co_filename, frame.f_lineno
    _passed[place] += 1
    if _passed[place] <= skip:
        return
    found = member()
    assert found is not None
    if found.rank() == rank:
        print(f"rank {rank} stops here; the others wait until it goes on", flush=True)
        pdb.Pdb().set_trace(frame)
    barrier(timeout=timedelta(seconds=timeout_s))
