"""Sockets: connecting within a time, messages of several fields, each with its length."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from flambeau.distributed.errors import DistNetworkError

LENGTH = struct.Struct("!I")
LARGEST = 1 << 28
"""Bytes that a message of fields may have: more is no message of ours."""


def seconds(timeout: timedelta) -> float:
    """A duration; TypeError for anything else."""
    if not isinstance(timeout, timedelta):
        raise TypeError(f"timeout: expected a datetime.timedelta, got {type(timeout).__name__}")
    return timeout.total_seconds()


def receive_into(connection: socket.socket, view: memoryview) -> None:
    """Fills a buffer; ConnectionError if the other side is gone before."""
    while view.nbytes:
        count = connection.recv_into(view)
        if count == 0:
            raise ConnectionError("the other side has closed the connection")
        view = view[count:]


def receive(connection: socket.socket, count: int) -> bytearray:
    """As many bytes."""
    data = bytearray(count)
    receive_into(connection, memoryview(data))
    return data


def send_all(connection: socket.socket, *parts: Any) -> None:
    """Sends buffers one after the other, copying none."""
    left = [view for view in (memoryview(part).cast("B") for part in parts) if view.nbytes]
    while left:
        sent = connection.sendmsg(left)
        while left and sent >= left[0].nbytes:
            sent -= left.pop(0).nbytes
        if sent:
            left[0] = left[0][sent:]


def send_fields(connection: socket.socket, fields: Sequence[bytes]) -> None:
    """Sends byte strings as one message."""
    body = b"".join(LENGTH.pack(len(field)) + field for field in fields)
    connection.sendall(LENGTH.pack(len(body)) + body)


def receive_fields(connection: socket.socket) -> list[bytes]:
    """The byte strings of one message; ConnectionError for what is none."""
    (length,) = LENGTH.unpack(receive(connection, 4))
    if length > LARGEST:
        raise ConnectionError(f"a message says that it has {length} bytes")
    body = bytes(receive(connection, length))
    fields, place = [], 0
    while place < length:
        if place + 4 > length:
            raise ConnectionError("a message ends within a length")
        (size,) = LENGTH.unpack_from(body, place)
        place += 4
        if place + size > length:
            raise ConnectionError("a message ends within a field")
        fields.append(body[place : place + size])
        place += size
    return fields


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """A connection; tries again until the time is over, as the other side may still be starting.

    Raises:
        DistNetworkError: nobody answered in time.
    """
    end, reason = time.monotonic() + timeout, "no attempt was made"
    pause = 0.005
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise DistNetworkError(
                f"connecting to ({host}, {port}): nobody answered within {timeout:g} s ({reason})"
            )
        try:
            connection = socket.create_connection((host, port), left)
        except OSError as error:
            reason = str(error)
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(2 * pause, 0.5)
            continue
        if connection.getsockname() == connection.getpeername():
            # A port that nobody listens on can be given to the caller itself.
            connection.close()
            continue
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def listen(host: str, port: int, backlog: int = 512) -> socket.socket:
    """A socket that listens; DistNetworkError where that is not possible."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(backlog)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise DistNetworkError(f"listening on ({host}, {port}): {error}") from error
    return listener
