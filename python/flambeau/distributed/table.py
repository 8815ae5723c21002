"""Keys and values that several threads use: what every store is about."""

from __future__ import annotations

import enum
import threading
import time
from collections import deque
from collections.abc import Sequence

from flambeau.distributed.errors import DistStoreError, QueueEmptyError


class Ask(enum.IntEnum):
    """What a store is asked for; the number goes over the wire."""

    SET = 1
    GET = 2
    ADD = 3
    COMPARE_SET = 4
    DELETE = 5
    NUM_KEYS = 6
    CHECK = 7
    WAIT = 8
    APPEND = 9
    LIST = 10
    PUSH = 11
    POP = 12
    QUEUE_LEN = 13
    MULTI_SET = 14


def late(keys: Sequence[bytes], seconds: float) -> DistStoreError:
    """The error of keys that nobody set."""
    names = ", ".join(key.decode(errors="replace") for key in keys)
    return DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {names}")


class Table:
    """Values and queues by their keys.

    `answer(ask, fields, seconds)` does what is asked and gives the fields of the answer; it waits
    no longer than that many seconds.
    """

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, deque[bytes]] = {}
        self.changed = threading.Condition()

    def answer(self, ask: Ask, fields: Sequence[bytes], seconds: float) -> list[bytes]:
        with self.changed:
            if ask == Ask.GET:
                self._wait(fields[:1], seconds)
                return [self.values[fields[0]]]
            if ask == Ask.WAIT:
                self._wait(fields, seconds)
                return []
            if ask == Ask.POP:
                return [self._pop(fields[0], fields[1] == b"1", seconds)]
            answer = self._at_once(ask, fields)
            self.changed.notify_all()
            return answer

    def _wait(self, keys: Sequence[bytes], seconds: float) -> None:
        there = self.changed.wait_for(lambda: all(key in self.values for key in keys), seconds)
        if not there:
            raise late([key for key in keys if key not in self.values], seconds)

    def _pop(self, key: bytes, block: bool, seconds: float) -> bytes:
        if not block and not self.queues.get(key):
            raise QueueEmptyError(f"queue_pop: the queue {key.decode()!r} is empty")
        end = time.monotonic() + seconds
        while not self.queues.get(key):
            if not self.changed.wait(max(0.0, end - time.monotonic())):
                raise late([key], seconds)
        return self.queues[key].popleft()

    def _at_once(self, ask: Ask, fields: Sequence[bytes]) -> list[bytes]:
        """The answer to what needs no waiting."""
        values = self.values
        if ask in (Ask.SET, Ask.MULTI_SET):
            values.update(zip(fields[::2], fields[1::2], strict=True))
            return []
        if ask == Ask.ADD:
            return [self._add(fields[0], int(fields[1]))]
        if ask == Ask.COMPARE_SET:
            return [self._compare_set(*fields)]
        if ask == Ask.DELETE:
            return [b"1" if values.pop(fields[0], None) is not None else b"0"]
        if ask == Ask.NUM_KEYS:
            return [str(len(values)).encode()]
        if ask == Ask.CHECK:
            return [b"1" if all(key in values for key in fields) else b"0"]
        if ask == Ask.APPEND:
            values[fields[0]] = values.get(fields[0], b"") + fields[1]
            return []
        if ask == Ask.LIST:
            return sorted(values)
        if ask == Ask.PUSH:
            self.queues.setdefault(fields[0], deque()).append(fields[1])
            return []
        assert ask == Ask.QUEUE_LEN, ask
        return [str(len(self.queues.get(fields[0], ()))).encode()]

    def _add(self, key: bytes, amount: int) -> bytes:
        present = self.values.get(key, b"0")
        try:
            total = str(int(present) + amount).encode()
        except ValueError:
            raise ValueError(
                f"add: expected a number under {key.decode()!r}, got {present[:40]!r}"
            ) from None
        self.values[key] = total
        return total

    def _compare_set(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        """What is under the key afterwards; without one, what was expected."""
        present = self.values.get(key)
        if present == expected or (present is None and not expected):
            self.values[key] = present = desired
        return expected if present is None else present
