"""One collective call of one process: what it sends to whom, and what it awaits."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from flambeau import Tensor, uint8
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.mesh import Mesh, PeerLost, Slot, wait


def raw(tensor: Tensor) -> Any:
    """The bytes of a contiguous tensor, as a buffer on its memory."""
    if tensor.numel() == 0:
        return bytearray()
    array: Any = tensor.detach().reshape(-1).view(uint8).numpy()
    return memoryview(array).cast("B")


class Exchange:
    """A call that all ranks of a group make.

    Args:
        mesh: the connections.
        group: its number in messages.
        ranks: of its processes, in the mesh.
        call: the number of the call in the group.
        words: what is called with what; it must be the same in all processes.
        timeout: seconds that the whole call may take.
    """

    def __init__(
        self, mesh: Mesh, group: int, ranks: list[int], call: int, words: str, timeout: float
    ) -> None:
        self._mesh = mesh
        self._group = group
        self._ranks = ranks
        self._call = call
        self._words = words.encode()
        self._timeout = timeout
        self.deadline = time.monotonic() + timeout
        self.size = len(ranks)
        self.rank = ranks.index(mesh.rank)

    @property
    def name(self) -> str:
        """The operation."""
        return self._words.decode().partition("(")[0]

    def send(self, to: int, data: Any, step: int = 0) -> None:
        """Sends a tensor, or bytes, to a rank of the group."""
        buffer = raw(data) if isinstance(data, Tensor) else data
        self._mesh.send(self._ranks[to], self._group, self._call, step, self._words, buffer)

    def expect(self, source: int, into: Tensor | None, step: int = 0) -> Slot:
        """Awaits what a rank of the group sends. `into`: a contiguous tensor; None: any bytes."""
        buffer = None if into is None else raw(into)
        return self._mesh.expect(self._ranks[source], self._group, self._call, step, buffer)

    def take(self, slot: Slot) -> Any:
        """Waits for what was expected; its bytes, if it had no tensor."""
        if not wait(slot, self.deadline):
            raise DistBackendError(
                f"{self.name}: rank {self._mesh.rank} waited {self._timeout:g} s for rank "
                f"{slot.source}, which has sent nothing: it has not called {self.name}, or is late"
            )
        if slot.error is not None:
            raise PeerLost(slot.error)
        if slot.words != self._words:
            raise DistBackendError(
                f"{self.name}: the ranks call different things: rank {slot.source} calls "
                f"{slot.words.decode()}, rank {self._mesh.rank} {self._words.decode()}"
            )
        if slot.buffer is not None and slot.size != slot.buffer.nbytes:
            raise DistBackendError(
                f"{self.name}: rank {self._mesh.rank} expected {slot.buffer.nbytes} bytes from "
                f"rank {slot.source}, which has sent {slot.size}"
            )
        return slot.data

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The time of the call: if it fails here, the other ranks learn of it."""
        self._mesh.patience(self._timeout)
        try:
            yield
        except PeerLost as lost:
            self._tell(str(lost))
            text = str(lost)
            if not text.startswith(f"{self.name}:"):
                text = f"{self.name}: rank {self._mesh.rank} needs other ranks, and {text}"
            raise DistBackendError(text) from None
        except Exception as error:
            self._tell(f"{error}")
            raise
        finally:
            self._mesh.finish(self._group, self._call)

    def _tell(self, text: str) -> None:
        if not text.startswith(f"{self.name}:"):
            text = f"{self.name}: it failed on rank {self._mesh.rank}: {text}"
        for rank in self._ranks:
            if rank != self._mesh.rank:
                self._mesh.fail(rank, self._group, self._call, text)
