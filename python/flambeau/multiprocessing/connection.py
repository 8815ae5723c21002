"""Pipes that carry descriptors beside bytes.

The bytes are those of `multiprocessing.connection`: a length of four bytes, then as many bytes, or
-1 and a length of eight. Descriptors come before the message that they belong to, each batch on a
length below -1, which says how many they are.
"""

from __future__ import annotations

import errno
import io
import multiprocessing.connection
import os
import resource
import socket
import struct
import time
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from flambeau.multiprocessing.parcels import Parcel, pack, unpack

_LENGTH, _LONG_LENGTH = struct.Struct("!i"), struct.Struct("!Q")
_MOST_AT_ONCE = 200  # the system takes 253
_SPACE = socket.CMSG_SPACE(_MOST_AT_ONCE * 4)
# Messages up to this size go out in one call, together with their descriptors.
_SMALL = 16384


class Connection(multiprocessing.connection.Connection):
    """An end of a pipe whose objects may hold tensors: `send` and `recv` pass the descriptors of
    their memory along."""

    def __init__(self, handle: int, readable: bool = True, writable: bool = True) -> None:
        super().__init__(handle, readable, writable)
        self._socket = socket.socket(fileno=handle)
        self._socket.setblocking(True)  # whatever the program's default is

    def _close(self) -> None:
        self._socket.close()

    def send(self, obj: Any) -> None:
        """Sends an object; the memory of its tensors is shared from now on."""
        self._check_closed()  # type: ignore[attr-defined]
        self._check_writable()  # type: ignore[attr-defined]
        self.send_parcel(pack(obj))

    def recv(self) -> Any:
        """The next object, when it has come. EOFError: the other end is closed."""
        return unpack(self.recv_parcel())

    def send_parcel(self, parcel: Parcel) -> None:
        """Sends a message that is packed."""
        data = parcel.data
        if parcel.descriptors:
            batches = range(0, len(parcel.descriptors), _MOST_AT_ONCE)
            for start in batches:
                batch = parcel.descriptors[start : start + _MOST_AT_ONCE]
                content = [_LENGTH.pack(-1 - len(batch))]
                if start == batches[-1] and len(data) <= _SMALL:
                    content += [_LENGTH.pack(len(data)), data]
                    data = None
                self._send_descriptors(content, batch)
        if data is not None:
            self._send_bytes(data)  # type: ignore[attr-defined]

    def _send_descriptors(self, content: list[Any], descriptors: list[int]) -> None:
        rights = (
            socket.SOL_SOCKET,
            socket.SCM_RIGHTS,
            struct.pack(f"{len(descriptors)}i", *descriptors),
        )
        while True:
            try:
                sent = self._socket.sendmsg(content, [rights])
                break
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS:
                    raise
            # As many descriptors of this user are under way as may be open: like a full pipe.
            time.sleep(0.001)
        left = b"".join(content)[sent:]
        if left:
            self._send(left)  # type: ignore[attr-defined]

    def recv_parcel(self) -> Parcel:
        """The next message, when it has come."""
        self._check_closed()  # type: ignore[attr-defined]
        self._check_readable()  # type: ignore[attr-defined]
        descriptors: list[int] = []
        expected = 0
        length = self._receive_length(descriptors)
        while length < -1:
            expected += -1 - length
            length = self._receive_length(descriptors)
        if length == -1:
            (length,) = _LONG_LENGTH.unpack(self._recv(8).getvalue())  # type: ignore[attr-defined]
        data = self._recv(length).getbuffer()  # type: ignore[attr-defined]
        if len(descriptors) < expected:
            for descriptor in descriptors:
                os.close(descriptor)
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            raise RuntimeError(
                f"Connection.recv: {expected - len(descriptors)} of {expected} descriptors of "
                f"shared memory were lost, because this process may have {limit} open files only "
                "(RLIMIT_NOFILE); raise the limit with ulimit -n"
            )
        return Parcel(data, descriptors)

    def _receive_length(self, descriptors: list[int]) -> int:
        """The next length; descriptors that come with it are added to the list."""
        content = b""
        while len(content) < 4:
            part, rights, _, _ = self._socket.recvmsg(
                4 - len(content), _SPACE, socket.MSG_CMSG_CLOEXEC
            )
            for level, kind, numbers in rights:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    descriptors += struct.unpack(f"{len(numbers) // 4}i", numbers)
            if not part:
                raise EOFError if not content else OSError("got end of file during message")
            content += part
        return int(_LENGTH.unpack(content)[0])

    def _recv_bytes(self, maxsize: int | None = None) -> io.BytesIO | None:
        parcel = self.recv_parcel()
        for descriptor in parcel.descriptors:
            os.close(descriptor)
        if maxsize is not None and len(parcel.data) > maxsize:
            return None
        return io.BytesIO(parcel.data)


def Pipe(duplex: bool = True) -> tuple[Connection, Connection]:
    """Two ends of a pipe; without `duplex` the first one receives, the second one sends."""
    first, second = socket.socketpair()
    return (
        Connection(first.detach(), writable=duplex),
        Connection(second.detach(), readable=duplex),
    )


def _rebuild(descriptor: Any, readable: bool, writable: bool) -> Connection:
    return Connection(descriptor.detach(), readable, writable)


def _reduce(connection: Connection) -> tuple[Any, ...]:
    descriptor = DupFd(connection.fileno())
    return _rebuild, (descriptor, connection.readable, connection.writable)


ForkingPickler.register(Connection, _reduce)
