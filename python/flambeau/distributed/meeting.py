"""How processes that share a store connect with each other."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import time

from flambeau.distributed.errors import DistBackendError, DistStoreError
from flambeau.distributed.mesh import Mesh
from flambeau.distributed.store import PrefixStore, Store
from flambeau.distributed.tcp_store import TCPStore
from flambeau.distributed.wire import connect, listen, receive_fields, send_fields

_HELLO = b"flambeau mesh 1"


def _address_of_interface(name: str) -> str:
    """The IPv4 address of a network interface."""
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            answer = fcntl.ioctl(asking, 0x8915, struct.pack("256s", name.encode()[:15]))
        except OSError as error:
            raise DistBackendError(
                f"GLOO_SOCKET_IFNAME: there is no interface {name!r} with an address ({error})"
            ) from error
    return socket.inet_ntoa(answer[20:24])


def _own_address(store: Store) -> str:
    """Where the others reach this process: the address that the store sees, if it is on TCP."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME")
    if interface:
        return _address_of_interface(interface.split(",")[0])
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if isinstance(store, TCPStore):
        return store.local_address()
    try:
        address = socket.gethostbyname(socket.gethostname())
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            trial.bind((address, 0))
    except OSError:
        return "127.0.0.1"
    return address


def meet(store: Store, rank: int, size: int, seconds: float) -> Mesh:
    """Connects this process with all others that meet in the store.

    Raises:
        DistBackendError: some did not come in time; it names them.
    """
    if size == 1:
        return Mesh(rank, {})
    end = time.monotonic() + seconds
    address = _own_address(store)
    with listen(address, 0, size) as listener:
        if rank == 0:
            # Strangers who find the port do not know it.
            store.set("token", secrets.token_hex(16))
        store.set(f"address/{rank}", f"{address} {listener.getsockname()[1]}")
        try:
            token = store.get("token")
            places = [store.get(f"address/{peer}").decode().split() for peer in range(rank)]
        except DistStoreError as error:
            missing = [peer for peer in range(size) if not store.check([f"address/{peer}"])]
            raise DistBackendError(
                f"init_process_group: rank {rank} waited {seconds:g} s for ranks {missing} of "
                f"{size}, which have not come"
            ) from error
        connections: dict[int, socket.socket] = {}
        for peer, (host, port) in enumerate(places):
            connection = connect(host, int(port), max(0.1, end - time.monotonic()))
            send_fields(connection, [_HELLO, token, str(rank).encode()])
            connections[peer] = connection
        while len(connections) < size - 1:
            listener.settimeout(max(0.01, end - time.monotonic()))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                missing = [p for p in range(size) if p != rank and p not in connections]
                raise DistBackendError(
                    f"init_process_group: rank {rank} waited {seconds:g} s for ranks {missing} of "
                    f"{size}, which have not connected"
                ) from None
            peer_rank = _greeted(connection, token)
            if peer_rank is not None:
                connections[peer_rank] = connection
    for connection in connections.values():
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return Mesh(rank, connections)


def _greeted(connection: socket.socket, token: bytes) -> int | None:
    """The rank of a process that connects; None for a stranger."""
    connection.settimeout(10)
    try:
        hello, given, rank = receive_fields(connection)
        if hello == _HELLO and hmac.compare_digest(given, token):
            return int(rank)
    except (OSError, ValueError):
        pass  # a stranger: it gets no answer
    connection.close()
    return None
