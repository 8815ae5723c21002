"""Stores: keys and values that all processes see. They find each other by them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from flambeau.distributed.table import Ask, Table
from flambeau.distributed.wire import seconds

DEFAULT_TIMEOUT = timedelta(seconds=300)


def _bytes(method: str, name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{method}: {name} must be str or bytes, got {type(value).__name__}")


class Store:
    """Keys and values, shared by processes. The base of HashStore, FileStore, TCPStore and
    PrefixStore; keys are str, values bytes (a str is encoded).

    Example:
        >>> store = flambeau.distributed.HashStore()
        >>> isinstance(store, flambeau.distributed.Store)
        True
        >>> store.set("address", "10.0.0.1")
        >>> store.get("address"), store.add("count", 2), store.list_keys()
        (b'10.0.0.1', 2, ['address', 'count'])
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    def _answer(self, ask: Ask, fields: Sequence[bytes], timeout: float) -> list[bytes]:
        raise NotImplementedError(f"{type(self).__name__} does not say how it stores")

    def _ask(self, ask: Ask, *fields: bytes, timeout: timedelta | None = None) -> list[bytes]:
        return self._answer(ask, fields, seconds(self._timeout if timeout is None else timeout))

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long `get` and `wait` wait."""
        seconds(timeout)
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Puts a value under a key, over what was there."""
        self._ask(Ask.SET, _bytes("set", "key", key), _bytes("set", "value", value))

    def get(self, key: str) -> bytes:
        """The value of a key; waits until there is one.

        Raises:
            DistStoreError: nobody set it within the timeout.
        """
        return self._ask(Ask.GET, _bytes("get", "key", key))[0]

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter, which begins at 0, and returns what it is then.

        Raises:
            ValueError: what is under the key is no number.
        """
        return int(self._ask(Ask.ADD, _bytes("add", "key", key), str(int(amount)).encode())[0])

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Sets a value if the present one is as expected, or there is none and none is expected
        (an empty one). Returns what is there afterwards, without a key what was expected.
        """
        name = _bytes("compare_set", "key", key)
        expected = _bytes("compare_set", "expected_value", expected_value)
        desired = _bytes("compare_set", "desired_value", desired_value)
        return self._ask(Ask.COMPARE_SET, name, expected, desired)[0]

    def delete_key(self, key: str) -> bool:
        """Takes a key away; returns whether it was there."""
        return self._ask(Ask.DELETE, _bytes("delete_key", "key", key))[0] == b"1"

    def num_keys(self) -> int:
        """The number of keys."""
        return int(self._ask(Ask.NUM_KEYS)[0])

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        return self._ask(Ask.CHECK, *(_bytes("check", "keys", key) for key in keys))[0] == b"1"

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are set.

        Raises:
            DistStoreError: some were not within the timeout; it names them.
        """
        self._ask(Ask.WAIT, *(_bytes("wait", "keys", key) for key in keys), timeout=timeout)

    def append(self, key: str, value: str | bytes) -> None:
        """Appends to the value of a key."""
        self._ask(Ask.APPEND, _bytes("append", "key", key), _bytes("append", "value", value))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of keys; waits as `get`."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Sets several keys at once."""
        if len(keys) != len(values):
            raise ValueError(
                f"multi_set: expected as many values as keys, got {len(keys)} keys and "
                f"{len(values)} values"
            )
        pairs: list[bytes] = []
        for key, value in zip(keys, values, strict=True):
            pairs += [_bytes("multi_set", "keys", key), _bytes("multi_set", "values", value)]
        self._ask(Ask.MULTI_SET, *pairs)

    def list_keys(self) -> list[str]:
        """All keys, sorted."""
        return [key.decode() for key in self._ask(Ask.LIST)]

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Puts a value at the end of a queue. Queues are apart from keys."""
        self._ask(Ask.PUSH, _bytes("queue_push", "key", key), _bytes("queue_push", "value", value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue.

        Raises:
            QueueEmptyError: there is none, and `block` is False.
            DistStoreError: there was none within the timeout.
        """
        return self._ask(Ask.POP, _bytes("queue_pop", "key", key), b"1" if block else b"0")[0]

    def queue_len(self, key: str) -> int:
        """How many values a queue holds."""
        return int(self._ask(Ask.QUEUE_LEN, _bytes("queue_len", "key", key))[0])

    def has_extended_api(self) -> bool:
        """True: there are `append`, `multi_get` and `multi_set`."""
        return True

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Waits until `world_size` callers have come with this key."""
        if self.add(f"{key}/count", 1) >= world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], timeout)

    def clone(self) -> Store:
        """A store on the same keys."""
        return self


class HashStore(Store):
    """A store of the threads of one process.

    Example:
        >>> store = flambeau.distributed.HashStore()
        >>> store.compare_set("leader", "", "rank 3"), store.compare_set("leader", "", "rank 5")
        (b'rank 3', b'rank 3')
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _answer(self, ask: Ask, fields: Sequence[bytes], timeout: float) -> list[bytes]:
        return self._table.answer(ask, fields, timeout)


# How many of the fields are keys, and how far they are apart.
_KEYS = {
    Ask.CHECK: slice(None),
    Ask.WAIT: slice(None),
    Ask.MULTI_SET: slice(None, None, 2),
    Ask.NUM_KEYS: slice(0, 0),
    Ask.LIST: slice(0, 0),
}


class PrefixStore(Store):
    """The keys of another store that begin with `prefix/`, without that.

    `num_keys` and `list_keys` speak of all keys of the other store.

    Args:
        prefix: what keys begin with there.
        store: where they are.

    Example:
        >>> whole = flambeau.distributed.HashStore()
        >>> store = flambeau.distributed.PrefixStore("run 1", whole)
        >>> store.set("address", "10.0.0.1")
        >>> whole.get("run 1/address")
        b'10.0.0.1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        if not isinstance(store, Store):
            raise TypeError(
                f"PrefixStore: store must be a flambeau.distributed.Store, got "
                f"{type(store).__name__}"
            )
        self._prefix = prefix
        self._store = store

    @property
    def underlying_store(self) -> Store:
        """The store that holds the keys."""
        return self._store

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait: as of the store below."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long `get` and `wait` wait, of the store below."""
        self._store.set_timeout(timeout)

    def _ask(self, ask: Ask, *fields: bytes, timeout: timedelta | None = None) -> list[bytes]:
        named = list(fields)
        keys = _KEYS.get(ask, slice(0, 1))
        named[keys] = [f"{self._prefix}/".encode() + key for key in named[keys]]
        return self._store._ask(ask, *named, timeout=timeout)

    def clone(self) -> Store:
        """A store on the same keys."""
        return PrefixStore(self._prefix, self._store.clone())
