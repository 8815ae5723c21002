"""Connections of each process with every other, and the messages that cross them.

A thread per connection reads: whatever a process sends is taken at once, into the buffer that waits
for it or into one of its own. So no process waits for another to listen, and two that send to each
other both get through.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
import weakref
from collections import deque
from typing import Any, ClassVar

from flambeau.distributed.wire import receive, receive_into, send_all

_HEAD = struct.Struct("!BQQIHQ")  # kind, group, number of the call or tag, step, words, bytes
_CALL, _LETTER, _FAILURE, _FAREWELL = 1, 2, 3, 4

Key = tuple[Any, ...]


class PeerLost(Exception):
    """Another process is gone; the text says what was seen.

    Example:
        >>> import socket
        >>> from flambeau.distributed.mesh import Mesh
        >>> here, there = socket.socketpair()
        >>> mesh = Mesh(0, {1: here})
        >>> mesh.leave()
        >>> mesh.post(1, 0, 5, b"", b"data")
        Traceback (most recent call last):
            ...
        flambeau.distributed.mesh.PeerLost: the process group was destroyed here
        >>> there.close()
    """


class Slot:
    """A message that is awaited.

    Args:
        buffer: where its bytes go; None: they become `data`.
        source: the rank that it comes from; None: any.
        expected: its words; None: any.

    Example:
        >>> from flambeau.distributed.mesh import Slot
        >>> slot = Slot(bytearray(4), source=None)
        >>> slot.fill(2, b"words", b"data")
        >>> slot.source, slot.words, bytes(slot.buffer)
        (2, b'words', b'data')
    """

    __slots__ = ("arrived", "buffer", "data", "error", "expected", "size", "source", "words")

    def __init__(self, buffer: Any, source: int | None, expected: bytes | None = None) -> None:
        self.buffer = None if buffer is None else memoryview(buffer).cast("B")
        self.source = source
        self.expected = expected
        self.arrived = threading.Event()
        self.words = b""
        self.size = 0
        self.data: Any = b""
        self.error: str | None = None

    def fill(self, source: int, words: bytes, data: Any) -> None:
        """Takes a message that has been read. Where it does not fit, only its size is kept."""
        self.source, self.words, self.size = source, words, len(data)
        if self.buffer is None:
            self.data = data
        elif len(data) == self.buffer.nbytes:
            self.buffer[:] = data
        self.arrived.set()

    def fail(self, error: str) -> None:
        self.error = error
        self.arrived.set()


class _Peer:
    """Another process and the connection with it."""

    def __init__(self, rank: int, connection: socket.socket) -> None:
        self.rank = rank
        self.connection = connection
        self.sending = threading.Lock()
        self.lost: str | None = None
        self.patience = 0.0


class Mesh:
    """All other processes.

    Args:
        rank: of this process.
        connections: with the others, by their ranks.

    Example:
        >>> import socket, time
        >>> from flambeau.distributed.mesh import Mesh, wait
        >>> here, there = socket.socketpair()
        >>> zero, one = Mesh(0, {1: here}), Mesh(1, {0: there})
        >>> zero.post(1, 0, 5, b"words", b"data")
        >>> slot = one.collect(0, 0, 5, bytearray(4))
        >>> wait(slot, time.monotonic() + 10), slot.source, bytes(slot.buffer)
        (True, 0, b'data')
        >>> zero.leave(), one.leave()
        (None, None)
    """

    _all: ClassVar[weakref.WeakSet[Mesh]] = weakref.WeakSet()

    def __init__(self, rank: int, connections: dict[int, socket.socket]) -> None:
        self.rank = rank
        self._is_forked = False
        self._peers = {peer: _Peer(peer, c) for peer, c in connections.items()}
        self._lock = threading.Lock()
        self._awaited: dict[Key, Slot] = {}
        self._come: dict[Key, tuple[bytes, Any]] = {}
        self._readers: dict[Key, deque[Slot]] = {}
        self._letters: dict[Key, deque[tuple[int, bytes, Any]]] = {}
        self._failures: dict[Key, str] = {}
        self._over: dict[int, int] = {}  # by group: calls before this one are finished
        Mesh._all.add(self)
        for peer in self._peers.values():
            threading.Thread(
                target=self._read, args=(peer,), name=f"rank {peer.rank}", daemon=True
            ).start()

    # What is sent.

    def send(self, to: int, group: int, call: int, step: int, words: bytes, data: Any) -> None:
        """Sends a part of a collective call; PeerLost where nobody takes it."""
        self._send(to, _CALL, group, call, step, words, data)

    def post(self, to: int, group: int, tag: int, words: bytes, data: Any) -> None:
        """Sends a letter, which is read by its tag."""
        self._send(to, _LETTER, group, tag, 0, words, data)

    def patience(self, seconds: float) -> None:
        """How long the system may take for what is sent."""
        for peer in self._peers.values():
            if seconds > peer.patience and peer.lost is None:
                peer.patience = seconds
                whole = min(int(seconds), 1 << 30)
                value = struct.pack("ll", whole, int((seconds - whole) * 1e6) if whole < 9 else 0)
                peer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)

    def fail(self, to: int, group: int, call: int, text: str) -> None:
        """Tells that a collective call has failed here."""
        with contextlib.suppress(PeerLost):
            self._send(to, _FAILURE, group, call, 0, b"", text.encode())

    def _send(
        self, to: int, kind: int, group: int, call: int, step: int, words: bytes, data: Any
    ) -> None:
        peer = self._peers[to]
        if peer.lost is not None and kind != _FAREWELL:
            raise PeerLost(peer.lost)
        view = memoryview(data).cast("B")
        head = _HEAD.pack(kind, group, call, step, len(words), view.nbytes) + words
        try:
            with peer.sending:
                send_all(peer.connection, head, view)
        except BlockingIOError:
            # Half a message may be under way: nothing can follow on this connection.
            self._lose(peer, f"rank {to} has not taken a message for {peer.patience:g} s")
            peer.connection.shutdown(socket.SHUT_RDWR)
            raise PeerLost(peer.lost) from None
        except OSError as error:
            self._lose(peer, f"the connection with rank {to} broke ({error})")
            raise PeerLost(peer.lost) from None

    # What is awaited.

    def expect(
        self, source: int, group: int, call: int, step: int, buffer: Any, words: bytes
    ) -> Slot:
        """Awaits a part of a collective call. `buffer`: where it goes, of the size that it has."""
        slot = Slot(buffer, source, words)
        key = (source, group, call, step)
        with self._lock:
            self._compare(group, call, words)
            if key in self._come:
                slot.fill(source, *self._come.pop(key))
            elif (group, call) in self._failures:
                slot.fail(self._failures[group, call])
            elif (lost := self._peers[source].lost) is not None:
                slot.fail(lost)
            else:
                self._awaited[key] = slot
        return slot

    def collect(self, source: int | None, group: int, tag: int, buffer: Any) -> Slot:
        """Awaits a letter with a tag. `source`: a rank; None: of any."""
        slot = Slot(buffer, source)
        key = (group, tag)
        with self._lock:
            letters = self._letters.get(key, deque())
            for letter in letters:
                if source in (None, letter[0]):
                    letters.remove(letter)
                    slot.fill(*letter)
                    return slot
            lost = self._none_left(source)
            if lost is not None:
                slot.fail(lost)
            else:
                self._readers.setdefault(key, deque()).append(slot)
        return slot

    def give_up(self, slot: Slot) -> None:
        """Awaits a letter no longer."""
        with self._lock:
            for slots in self._readers.values():
                if slot in slots:
                    slots.remove(slot)

    def finish(self, group: int, call: int) -> None:
        """Says that a collective call is over: what comes for it later is dropped."""
        with self._lock:
            self._over[group] = call + 1
            if not (self._come or self._failures or self._awaited):
                return
            for key in [key for key in self._come if key[1] == group and key[2] <= call]:
                del self._come[key]
            for key in [key for key in self._awaited if key[1] == group and key[2] <= call]:
                del self._awaited[key]
            for key in [key for key in self._failures if key[0] == group and key[1] <= call]:
                del self._failures[key]

    # What is known of the others.

    def lost(self, rank: int) -> str | None:
        """Why another process is gone; None: it is there."""
        return self._peers[rank].lost

    def failure(self, group: int, call: int) -> str | None:
        """Why a collective call has failed on another process; None: it has not."""
        return self._failures.get((group, call))

    def whole(self) -> bool:
        """Whether this is the process that the others know, and no fork of it."""
        return not self._is_forked

    # What arrives.

    def _read(self, peer: _Peer) -> None:
        try:
            while True:
                head = receive(peer.connection, _HEAD.size)
                kind, group, call, step, words_size, size = _HEAD.unpack(head)
                words = bytes(receive(peer.connection, words_size))
                if kind == _CALL:
                    self._read_call(peer, (peer.rank, group, call, step), words, size)
                elif kind == _LETTER:
                    self._read_letter(peer, (group, call), words, size)
                elif kind == _FAILURE:
                    self._failed(group, call, receive(peer.connection, size).decode())
                elif kind == _FAREWELL:
                    self._lose(peer, f"rank {peer.rank} has left: it destroyed its process group")
                else:
                    raise ConnectionError(f"a message of unknown kind {kind}")
        except (OSError, ValueError) as error:
            self._lose(peer, f"rank {peer.rank} is gone: its process has ended ({error})")
        finally:
            peer.connection.close()

    def _read_call(self, peer: _Peer, key: Key, words: bytes, size: int) -> None:
        with self._lock:
            slot = self._awaited.pop(key, None)
        if slot is not None:
            self._fill(slot, peer, words, size)
            if slot.expected is not None and slot.expected != words:
                text = different(peer.rank, words, self.rank, slot.expected)
                self._failed(key[1], key[2], text)
            return
        data = receive(peer.connection, size)
        with self._lock:
            # It may be awaited by now.
            slot = self._awaited.pop(key, None)
            if slot is None:
                if key[2] >= self._over.get(key[1], 0):
                    self._come[key] = words, data
                    for other in [s for k, s in self._awaited.items() if k[1:3] == key[1:3]]:
                        assert other.expected is not None
                        self._compare(key[1], key[2], other.expected)
                return
        slot.fill(peer.rank, words, data)

    def _compare(self, group: int, call: int, words: bytes) -> None:
        """Ends a call if another rank calls something else: then what is awaited of others may
        never come.
        """
        for key, (theirs, _) in self._come.items():
            if key[1:3] == (group, call) and theirs != words:
                self._fail_all(group, call, different(key[0], theirs, self.rank, words))

    def _read_letter(self, peer: _Peer, key: Key, words: bytes, size: int) -> None:
        with self._lock:
            slot = self._reader(key, peer.rank)
        if slot is not None:
            self._fill(slot, peer, words, size)
            return
        data = receive(peer.connection, size)
        with self._lock:
            slot = self._reader(key, peer.rank)
            if slot is None:
                self._letters.setdefault(key, deque()).append((peer.rank, words, data))
                return
        slot.fill(peer.rank, words, data)

    def _reader(self, key: Key, source: int) -> Slot | None:
        """The first who waits for a letter of this source."""
        slots = self._readers.get(key, deque())
        for slot in slots:
            if slot.source in (None, source):
                slots.remove(slot)
                return slot
        return None

    def _fill(self, slot: Slot, peer: _Peer, words: bytes, size: int) -> None:
        """Reads into the buffer that waits, if that is of the right size."""
        try:
            if slot.buffer is not None and slot.buffer.nbytes == size:
                receive_into(peer.connection, slot.buffer)
                slot.source, slot.words, slot.size = peer.rank, words, size
                slot.arrived.set()
            else:
                slot.fill(peer.rank, words, receive(peer.connection, size))
        except OSError as error:
            slot.fail(f"rank {peer.rank} is gone: its process has ended ({error})")
            raise

    def _failed(self, group: int, call: int, text: str) -> None:
        with self._lock:
            if call >= self._over.get(group, 0):
                self._fail_all(group, call, text)

    def _fail_all(self, group: int, call: int, text: str) -> None:
        self._failures.setdefault((group, call), text)
        for key in [key for key in self._awaited if key[1:3] == (group, call)]:
            self._awaited.pop(key).fail(text)

    def _lose(self, peer: _Peer, reason: str) -> None:
        with self._lock:
            peer.lost = reason = peer.lost or reason
            for key in [key for key in self._awaited if key[0] == peer.rank]:
                self._awaited.pop(key).fail(reason)
            for slots in self._readers.values():
                for slot in [slot for slot in slots if self._none_left(slot.source) is not None]:
                    slots.remove(slot)
                    slot.fail(reason)

    def _none_left(self, source: int | None) -> str | None:
        """Why no letter of a source can come; None: one can."""
        if source is not None:
            return self._peers[source].lost
        reasons = [peer.lost for peer in self._peers.values()]
        return "; ".join(map(str, reasons)) if all(reasons) else None

    # The end.

    def leave(self) -> None:
        """Says farewell. Connections stay until the others have done so, too."""
        for peer in self._peers.values():
            with contextlib.suppress(PeerLost, OSError):
                self._send(peer.rank, _FAREWELL, 0, 0, 0, b"", b"")
                peer.connection.shutdown(socket.SHUT_WR)
            self._lose(peer, "the process group was destroyed here")

    def _forked(self) -> None:
        """In a child: the connections are the parent's."""
        self._lock = threading.Lock()
        self._is_forked = True
        for peer in self._peers.values():
            peer.sending = threading.Lock()
            peer.connection.close()
            peer.lost = "this process was forked from the one that the group knows"


def different(source: int | None, words: bytes, rank: int, expected: bytes) -> str:
    """What to say where two ranks make different calls.

    Args:
        rank, source: the two ranks.
        words, expected: what each of them calls, as sent.

    Example:
        >>> from flambeau.distributed.mesh import different
        >>> different(1, b"barrier()", 0, b"gather(dst 0)")
        'gather: the ranks call different things: rank 1 calls barrier(), rank 0 gather(dst 0)'
    """
    mine = expected.decode()
    return (
        f"{mine.partition('(')[0]}: the ranks call different things: rank {source} calls "
        f"{words.decode(errors='replace')}, rank {rank} {mine}"
    )


def wait(slot: Slot, deadline: float) -> bool:
    """Waits for a message until a point of `time.monotonic()`; whether it came, or cannot.

    Args:
        slot: of the message.
        deadline: of `time.monotonic()`.

    Example:
        >>> import time
        >>> from flambeau.distributed.mesh import Slot, wait
        >>> slot = Slot(None, source=0)
        >>> wait(slot, time.monotonic() + 0.001)
        False
        >>> slot.fill(0, b"", b"data")
        >>> wait(slot, time.monotonic()), slot.data
        (True, b'data')
    """
    return slot.arrived.is_set() or slot.arrived.wait(max(0.0, deadline - time.monotonic()))


def _after_fork() -> None:
    for mesh in list(Mesh._all):
        mesh._forked()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Mesh", "PeerLost", "Slot", "different", "wait"]
