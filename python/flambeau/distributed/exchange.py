"""One collective call of one process: what it sends to whom, and what it awaits."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

from flambeau import Tensor, uint8
from flambeau.distributed import turns
from flambeau.distributed.board import Board
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.mesh import Mesh, PeerLost, Slot, different, wait


def raw(tensor: Tensor) -> Any:
    """The bytes of a contiguous tensor, as a buffer on its memory."""
    if tensor.numel() == 0:
        return bytearray()
    array: Any = tensor.detach().reshape(-1).view(uint8).numpy()
    return memoryview(array).cast("B")


@dataclasses.dataclass
class Shared:
    """The memory that a group shares; None: its processes are on several machines, or a call has
    failed.
    """

    board: Board | None = None
    sought: bool = False


class Exchange:
    """A call that all ranks of a group make.

    Args:
        mesh: the connections.
        group: its number in messages.
        ranks: of its processes, in the mesh.
        call: the number of the call in the group.
        words: what is called with what; it must be the same in all processes.
        timeout: seconds that the whole call may take.
        shared: the memory that the group shares.
    """

    def __init__(
        self,
        mesh: Mesh,
        group: int,
        ranks: list[int],
        call: int,
        words: str,
        timeout: float,
        shared: Shared,
    ) -> None:
        self._mesh = mesh
        self._group = group
        self._ranks = ranks
        self.call = call
        self.words = words.encode()
        self._timeout = timeout
        self._shared = shared
        self._is_announced = False
        self.deadline = time.monotonic() + timeout
        self.size = len(ranks)
        self.rank = ranks.index(mesh.rank)

    @property
    def name(self) -> str:
        """The operation."""
        return self.words.decode().partition("(")[0]

    def send(self, to: int, data: Any, step: int = 0) -> None:
        """Sends a tensor, or bytes, to a rank of the group."""
        self._by_messages()
        buffer = raw(data) if isinstance(data, Tensor) else data
        self._mesh.send(self._ranks[to], self._group, self.call, step, self.words, buffer)

    def expect(self, source: int, into: Tensor | None, step: int = 0) -> Slot:
        """Awaits what a rank of the group sends. `into`: a contiguous tensor; None: any bytes."""
        self._by_messages()
        buffer = None if into is None else raw(into)
        return self._mesh.expect(
            self._ranks[source], self._group, self.call, step, buffer, self.words
        )

    def take(self, slot: Slot) -> Any:
        """Waits for what was expected; its bytes, if it had no tensor."""
        if not wait(slot, self.deadline):
            raise DistBackendError(self._late(slot.source))
        if slot.error is not None:
            raise PeerLost(slot.error)
        if slot.words != self.words:
            raise self._differs(slot.source, slot.words)
        if slot.buffer is not None and slot.size != slot.buffer.nbytes:
            raise DistBackendError(
                f"{self.name}: rank {self._mesh.rank} expected {slot.buffer.nbytes} bytes from "
                f"rank {slot.source}, which has sent {slot.size}"
            )
        return slot.data

    def _late(self, source: int | None) -> str:
        return (
            f"{self.name}: rank {self._mesh.rank} waited {self._timeout:g} s for rank {source}, "
            f"which has sent nothing: it has not called {self.name}, or is late"
        )

    def _differs(self, source: int | None, words: bytes) -> DistBackendError:
        return DistBackendError(different(source, words, self._mesh.rank, self.words))

    # Over the memory that the group shares.

    def share(self, act: Callable[[turns.Turns], None]) -> bool:
        """Makes the call over shared memory, if all ranks can; else False, and nothing is done."""
        if not self._shared.sought:
            self._shared.board = turns.share(self)
            self._shared.sought = True
        board = self._shared.board
        if board is None or not self._mesh.whole():
            return False
        try:
            turns.Turns(self, board).run(act)
        except turns.Abandoned:
            self._abandon()
            return False
        return True

    def _by_messages(self) -> None:
        """Says so to those who would wait for this rank at the shared memory."""
        if not self._is_announced:
            self._is_announced = True
            if self._shared.board is not None and self._mesh.whole():
                self._shared.board.announce(self.call, self.words)

    def _abandon(self) -> None:
        if self._shared.board is not None and self._mesh.whole():
            self._shared.board.give_up(self.call)
        self._shared.board, self._shared.sought = None, True

    def member(self, rank: int) -> int:
        """The rank among all processes of a rank of the group."""
        return self._ranks[rank]

    def lost(self, rank: int) -> str | None:
        """Why a rank of the group is gone; None: it is there."""
        return self._mesh.lost(self._ranks[rank])

    def failure(self) -> str | None:
        """Why this call has failed on another rank."""
        return self._mesh.failure(self._group, self.call)

    def late(self, rank: int) -> str:
        """What to say of a rank of the group that did not come in time."""
        return self._late(self._ranks[rank])

    def differs(self, rank: int, words: bytes) -> DistBackendError:
        """The error of a rank of the group that calls something else."""
        return self._differs(self._ranks[rank], words)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The time of the call: if it fails here, the other ranks learn of it."""
        self._mesh.patience(self._timeout)
        try:
            yield
        except PeerLost as lost:
            self._abandon()
            self._tell(str(lost))
            text = str(lost)
            if not text.startswith(f"{self.name}:"):
                text = f"{self.name}: rank {self._mesh.rank} needs other ranks, and {text}"
            raise DistBackendError(text) from None
        except Exception as error:
            self._abandon()
            self._tell(f"{error}")
            raise
        finally:
            self._mesh.finish(self._group, self.call)

    def _tell(self, text: str) -> None:
        if not text.startswith(f"{self.name}:"):
            text = f"{self.name}: it failed on rank {self._mesh.rank}: {text}"
        for rank in self._ranks:
            if rank != self._mesh.rank:
                self._mesh.fail(rank, self._group, self.call, text)
