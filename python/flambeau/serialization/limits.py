"""What one pickle may cost: work and time that grow with its length.

Whatever a pickle makes, it can use again in a few bytes: copies of a long list, or a long key for
dict after dict. And a file chooses its keys, so that all of them may have one hash; then each takes
longer to insert than the one before. (The hashes of text are secret. Those of numbers, and of
tuples of them, are not.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import thread_time
from typing import Any

from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import refused

# Work for every byte, and for a pickle of a few: more than any pickler causes.
_WORK_PER_BYTE, _LITTLE_WORK = 4, 20_000
# Seconds to insert a key, a dozen times what it takes; and at all.
_SECONDS_PER_KEY, _FEW_SECONDS = 2e-6, 0.5
_FEW_KEYS, _KEYS_AT_ONCE = 100, 1000


class Limits:
    """Counts what a pickle costs, from the place where the stream is."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._begin = stream.position
        self._work = 0
        self._keys = 0
        self._seconds = 0.0

    def spend(self, work: int) -> None:
        """Counts elements, or bytes, that are copied or visited without standing in the pickle.

        Raises:
            pickle.UnpicklingError: there were too many.
        """
        self._work += work
        if self._work > _LITTLE_WORK + _WORK_PER_BYTE * (self._stream.position - self._begin):
            raise refused("it copies what it has made more often than its length warrants")

    def timed(self, keys: Sequence[Any], present: int) -> Iterator[Sequence[Any]]:
        """Parts of `keys`, for the caller to insert where `present` keys are.

        Raises:
            pickle.UnpicklingError: inserting them takes too long.
        """
        if present + len(keys) <= _FEW_KEYS:
            yield keys
            return
        for begin in range(0, len(keys), _KEYS_AT_ONCE):
            part = keys[begin : begin + _KEYS_AT_ONCE]
            began = thread_time()
            yield part
            self._seconds += thread_time() - began
            self._keys += len(part)
            if self._seconds > _FEW_SECONDS + _SECONDS_PER_KEY * (self._keys + self._work):
                raise refused(f"{self._keys} keys, most of which collide")
