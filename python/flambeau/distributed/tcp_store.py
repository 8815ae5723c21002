"""A store that one process keeps, and all others ask over TCP."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from flambeau.distributed import errors
from flambeau.distributed.store import DEFAULT_TIMEOUT, Store
from flambeau.distributed.table import Ask, Table
from flambeau.distributed.wire import connect, listen, receive_fields, seconds, send_fields

_HELLO = b"flambeau store 1"
_RAISED = {"ValueError": ValueError, "DistStoreError": errors.DistStoreError}
_RAISED["QueueEmptyError"] = errors.QueueEmptyError


class _Server:
    """Answers every connection in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._listener = listen(host, port)
        self.port: int = self._listener.getsockname()[1]
        self.tenants = 0
        self._table = Table()
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        threading.Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(connection)
            threading.Thread(
                target=self._serve, args=(connection,), name="TCPStore client", daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        """Answers one client until it goes, or says what no client of ours would say."""
        with connection, contextlib.suppress(OSError):
            if receive_fields(connection) != [_HELLO]:
                return
            send_fields(connection, [_HELLO])
            while True:
                ask, timeout, *fields = receive_fields(connection)
                send_fields(connection, self._answer(ask, timeout, fields))

    def _answer(self, ask: bytes, timeout: bytes, fields: list[bytes]) -> list[bytes]:
        """The kind of error, or nothing, and what goes with it."""
        try:
            return [b"", *self._table.answer(Ask(int(ask)), fields, float(timeout))]
        except (errors.DistStoreError, ValueError, TypeError, IndexError) as error:
            kind = type(error).__name__
            return [(kind if kind in _RAISED else "ValueError").encode(), str(error).encode()]

    def close(self) -> None:
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class TCPStore(Store):
    """A store of one process, which the others reach by its address.

    Args:
        host_name: of the process that keeps the store.
        port: there; 0 for the keeper: any that is free, which `port` tells.
        world_size: how many processes use it; None: any number.
        is_master: whether this process keeps it.
        timeout: for connecting, and for `get` and `wait`.
        wait_for_workers: the keeper waits until all have come, where world_size is known.
        multi_tenant: a second keeper of the same port in one process shares the store.
        master_listen_fd: must be None.
        use_libuv: of no meaning: threads answer.

    Raises:
        DistNetworkError: nobody answers at that address, or the port is taken.
        DistStoreError: not all came.

    Example:
        >>> kept = flambeau.distributed.TCPStore("localhost", 0, is_master=True)
        >>> other = flambeau.distributed.TCPStore("localhost", kept.port)  # in any process
        >>> other.set("address", "10.0.0.1")
        >>> kept.get("address")
        b'10.0.0.1'
    """

    _servers: ClassVar[weakref.WeakValueDictionary[int, _Server]] = weakref.WeakValueDictionary()

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if master_listen_fd is not None:
            raise ValueError("TCPStore: master_listen_fd must be None; give the port")
        self.set_timeout(timeout)
        self._host = host_name
        self._server: _Server | None = None
        if is_master:
            self._server = TCPStore._servers.get(port) if multi_tenant and port else None
            if self._server is None:
                self._server = _Server("", port)
                TCPStore._servers[self._server.port] = self._server
            self._server.tenants += 1
            port = self._server.port
        self._port = port
        self._pid = os.getpid()
        # A thread that waits for a key must not keep others from setting it.
        self._idle: list[socket.socket] = []
        self._idle.append(self._connect())
        if wait_for_workers and world_size is not None and world_size > 0:
            self._wait_for_workers(world_size)

    def _wait_for_workers(self, world_size: int) -> None:
        come = self.add("init/workers", 1)
        if come >= world_size:
            self.set("init/all", b"1")
        if self._server is None:
            return
        try:
            self.wait(["init/all"])
        except errors.DistStoreError:
            come = self.add("init/workers", 0)
            raise errors.DistStoreError(
                f"TCPStore: {come} of {world_size} processes came to port {self._port} within "
                f"{seconds(self._timeout):g} s"
            ) from None

    @property
    def host(self) -> str:
        """Of the process that keeps the store."""
        return self._host

    @property
    def port(self) -> int:
        """Where it answers."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """False: threads answer."""
        return False

    def local_address(self) -> str:
        """The address of this process, as the network of the store has it."""
        with self._connect() as connection:
            return str(connection.getsockname()[0])

    def _connect(self) -> socket.socket:
        connection = connect(self._host, self._port, seconds(self._timeout))
        try:
            connection.settimeout(max(1.0, seconds(self._timeout)))
            send_fields(connection, [_HELLO])
            if receive_fields(connection) != [_HELLO]:
                raise ConnectionError("the answer is not that of a store")
            connection.settimeout(None)
        except OSError as error:
            connection.close()
            raise errors.DistNetworkError(
                f"TCPStore: at ({self._host}, {self._port}) is no store of Flambeau ({error})"
            ) from error
        return connection

    def _answer(self, ask: Ask, fields: Sequence[bytes], timeout: float) -> list[bytes]:
        connection = self._taken()
        try:
            send_fields(connection, [b"%d" % ask, repr(timeout).encode(), *fields])
            # The server keeps the time; this is for one that does not answer at all.
            connection.settimeout(timeout + 60)
            kind, *answer = receive_fields(connection)
        except OSError as error:
            connection.close()
            raise errors.DistNetworkError(
                f"TCPStore: the process that keeps the store at ({self._host}, {self._port}) is "
                f"gone ({error})"
            ) from error
        self._idle.append(connection)
        if kind:
            raise _RAISED[kind.decode()](answer[0].decode())
        return answer

    def _taken(self) -> socket.socket:
        """A connection that no other thread uses."""
        if self._pid != os.getpid():
            # Forked: two processes must not speak on one connection.
            self._pid, self._idle = os.getpid(), []
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def clone(self) -> Store:
        """A store on the same keys, with a connection of its own."""
        return TCPStore(self._host, self._port, None, False, self._timeout, False)

    def __repr__(self) -> str:
        keeps = "kept here" if self._server else "kept elsewhere"
        return f"TCPStore({self._host}, {self._port}, {keeps})"

    def __del__(self) -> None:
        if getattr(self, "_pid", None) != os.getpid():
            return
        for connection in getattr(self, "_idle", []):
            connection.close()
        server = getattr(self, "_server", None)
        if server is not None:
            self._server = None
            server.tenants -= 1
            if server.tenants == 0:
                server.close()
