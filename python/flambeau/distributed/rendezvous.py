"""How processes find each other: by the environment, an address, or a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flambeau.distributed.errors import DistNetworkError
from flambeau.distributed.file_store import FileStore
from flambeau.distributed.store import DEFAULT_TIMEOUT, PrefixStore, Store
from flambeau.distributed.tcp_store import TCPStore

Meeting = tuple[Store, int, int]
_handlers: dict[str, Callable[..., Iterator[Meeting]]] = {}

__all__ = ["register_rendezvous_handler", "rendezvous"]


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Meeting]]) -> None:
    """Says who answers to `scheme://...`.

    Args:
        scheme: a new one.
        handler: a function of the URL and of `timeout=`, that yields (store, rank, world size).

    Raises:
        RuntimeError: the scheme is taken.

    Example:
        >>> def meet(url, **kwargs):
        ...     yield flambeau.distributed.HashStore(), 0, 1
        >>> flambeau.distributed.register_rendezvous_handler("alone", meet)
        >>> flambeau.distributed.init_process_group("gloo", init_method="alone://")
        >>> flambeau.distributed.get_world_size()
        1
        >>> flambeau.distributed.destroy_process_group()
    """
    if scheme in _handlers:
        raise RuntimeError(f"register_rendezvous_handler: {scheme}:// is taken already")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Meeting]:
    """Yields (store, rank, world size) where a URL leads: env://, tcp://HOST:PORT, file:///PATH.

    Args:
        rank: of this process; -1: as the URL, or the environment, says.
        world_size: the number of processes; -1: likewise.
        kwargs: `timeout`.
        url: where to.

    Raises:
        RuntimeError: nobody knows the scheme.
        ValueError: something is not said.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed.distributed_c10d import rendezvous
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store, rank, world_size = next(rendezvous(f"file://{folder}/store", 0, 2))
        >>> type(store).__name__, rank, world_size
        ('FileStore', 0, 2)
    """
    if not isinstance(url, str):
        raise RuntimeError(f"rendezvous: the URL must be a str, got {type(url).__name__}: {url}")
    scheme = urlsplit(url).scheme or "env"
    if scheme not in _handlers:
        raise RuntimeError(
            f"rendezvous: no rendezvous handler for {scheme}://; there are "
            f"{', '.join(f'{name}://' for name in _handlers)}"
        )
    parts = urlsplit(url)
    if rank != -1 or world_size != -1:
        query = [parts.query] if parts.query else []
        query += [f"rank={rank}"] if rank != -1 else []
        query += [f"world_size={world_size}"] if world_size != -1 else []
        url = parts._replace(query="&".join(query)).geturl()
        if parts.scheme == "env" and not parts.netloc:
            url = f"env://?{'&'.join(query)}"
    return _handlers[scheme](url, **kwargs)


def _asked(url: str, name: str) -> int | None:
    """A number that the URL gives; the last one, if several."""
    values = parse_qs(urlsplit(url).query).get(name)
    return int(values[-1]) if values else None


def _needed(url: str, name: str) -> int:
    value = _asked(url, name)
    if value is None:
        raise ValueError(
            f"Error initializing flambeau.distributed using {url}: {name} is not given, neither in "
            "the call nor in the URL"
        )
    return value


def _tcp(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **_: Any) -> Iterator[Meeting]:
    parts = urlsplit(url)
    if parts.port is None or parts.hostname is None:
        raise ValueError(f"Error initializing flambeau.distributed using {url}: port and host")
    rank, size = _needed(url, "rank"), _needed(url, "world_size")
    store = TCPStore(parts.hostname, parts.port, size, rank == 0, timeout, multi_tenant=True)
    yield store, rank, size


def _file(url: str, **_: Any) -> Iterator[Meeting]:
    path = urlsplit(url).path
    if not path:
        raise ValueError(f"Error initializing flambeau.distributed using {url}: no path")
    rank, size = _needed(url, "rank"), _needed(url, "world_size")
    yield FileStore(path, size), rank, size


def _environment(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            "Error initializing flambeau.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return value


def _env(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **_: Any) -> Iterator[Meeting]:
    rank, size = _asked(url, "rank"), _asked(url, "world_size")
    rank = int(_environment("RANK")) if rank is None else rank
    size = int(_environment("WORLD_SIZE")) if size is None else size
    host, port = _environment("MASTER_ADDR"), int(_environment("MASTER_PORT"))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # The launcher keeps the store, over all attempts.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        agent = TCPStore(host, port, size, False, timeout, wait_for_workers=False)
        yield PrefixStore(f"worker/attempt_{attempt}", agent), rank, size
        return
    try:
        store = TCPStore(host, port, size, rank == 0, timeout, multi_tenant=True)
    except DistNetworkError as error:
        raise DistNetworkError(
            f"init_process_group: rank {rank} does not find the store of rank 0 (MASTER_ADDR, "
            f"MASTER_PORT): {error}"
        ) from error
    yield store, rank, size


register_rendezvous_handler("tcp", _tcp)
register_rendezvous_handler("env", _env)
register_rendezvous_handler("file", _file)
