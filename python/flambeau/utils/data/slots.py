"""Memory that batches travel in: shared blocks that a worker fills, again and again.

A worker collates straight into a block. The block is lent with the batch, and comes back when the
receiver has dropped every tensor that lies on it; a batch that is kept keeps its blocks. Tensors
below 64 KiB travel inside the message.
"""

from __future__ import annotations

import copyreg
import io
import os
import pickle
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import flambeau
from flambeau import Tensor, UntypedStorage
from flambeau.multiprocessing import reductions

LEAST = 64 << 10  # bytes of a tensor that gets a block
_CPU = flambeau.device("cpu")


class Blocks:
    """The blocks of a worker."""

    def __init__(self) -> None:
        self._storages: dict[int, UntypedStorage] = {}
        self._numbers: dict[UntypedStorage, int] = {}
        self._free: set[int] = set()
        self._taken: set[int] = set()  # for the batch that is being made
        self._known: set[int] = set()  # to the receiver
        self._sent: set[int] = set()  # with the message that is being packed
        self._dropped: list[int] = []
        self._count = 0
        reducers = {
            **copyreg.dispatch_table,
            **ForkingPickler._extra_reducers,  # type: ignore[attr-defined]
            Tensor: self._reduce_tensor,
            UntypedStorage: self._reduce_storage,
        }
        # Their own way leads to the tensor in them.
        for kind in (flambeau.nn.Parameter, flambeau.nn.Buffer):
            reducers.pop(kind, None)
        self._reducers = reducers

    def empty(self, shape: Sequence[int], dtype: flambeau.dtype) -> Tensor | None:
        """A tensor in a block, for a batch to be collated into; None: it is too small for one."""
        strides = [1] * len(shape)
        for i in range(len(shape) - 1, 0, -1):
            strides[i - 1] = strides[i] * shape[i]
        nbytes = strides[0] * shape[0] * dtype.itemsize if shape else dtype.itemsize
        if nbytes < LEAST:
            return None
        return self._take(nbytes)._view(dtype, 0, shape, strides)

    def dumps(self, obj: Any) -> Any:
        """A message with the tensors of a batch."""
        self._sent = set()
        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, protocol=5)
        pickler.dispatch_table = self._reducers
        pickler.dump((self._dropped, obj))
        self._dropped = []
        self._known |= self._sent
        self._free |= self._taken - self._sent
        self._taken = set()
        return buffer.getbuffer()

    def give_back(self, returned: Sequence[int], retired: Sequence[int]) -> None:
        """What the receiver has dropped, and what it will never give back."""
        self._free.update(returned)
        for number in retired:
            self._forget(number)

    def _take(self, nbytes: int) -> UntypedStorage:
        """A free block of about that size, or a new one."""
        sizes = ((self._storages[n].nbytes(), n) for n in self._free)
        for size, number in sorted(sizes):
            storage = self._storages[number]
            # Whoever keeps a batch in the worker keeps its memory.
            if nbytes <= size <= 2 * nbytes and storage._holders() == 1:
                self._free.discard(number)
                break
        else:
            self._make_room(nbytes)
            number = self._count
            self._count += 1
            storage = UntypedStorage._new_shared(nbytes)
            self._storages[number] = storage
            self._numbers[storage] = number
        self._taken.add(number)
        return storage

    def _make_room(self, nbytes: int) -> None:
        """Drops free blocks that sizes have grown or shrunk away from."""
        for number in list(self._free):
            size = self._storages[number].nbytes()
            if not nbytes <= size <= 2 * nbytes and len(self._free) > 4:
                self._dropped.append(number)
                self._forget(number)

    def _forget(self, number: int) -> None:
        self._free.discard(number)
        self._known.discard(number)
        del self._numbers[self._storages.pop(number)]

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        reductions.check_leaf(tensor)
        if tensor._has_attributes():
            return tensor.__reduce_ex__(5)
        storage = tensor.untyped_storage()
        if storage not in self._numbers:
            size, nbytes = storage.nbytes(), tensor.nbytes
            room = None
            if nbytes >= LEAST and tensor.is_cpu:
                room = self.empty(tuple(tensor.shape), tensor.dtype)
            if room is not None:
                room.copy_(tensor.detach())
                return self._lend(room.requires_grad_(tensor.requires_grad))
            if size > 2 * nbytes + LEAST:  # a part of something large
                tensor = tensor.detach().clone().requires_grad_(tensor.requires_grad)
            return tensor.__reduce_ex__(5)
        return self._lend(tensor)

    def _lend(self, tensor: Tensor) -> Any:
        storage = tensor.untyped_storage()
        number = self._numbers[storage]
        self._sent.add(number)
        return _rebuild, (
            number,
            None if number in self._known else storage,
            tensor.dtype,
            tensor.storage_offset(),
            tuple(tensor.shape),
            tensor.stride(),
            tensor.requires_grad,
        )

    def _reduce_storage(self, storage: UntypedStorage) -> Any:
        if storage in self._numbers:
            return reductions.reduce_storage(storage)
        return storage.__reduce_ex__(5)


_live: weakref.WeakSet[Leases] = weakref.WeakSet()
_receiving: list[Leases] = []


class Leases:
    """What a receiver has borrowed of one worker."""

    def __init__(self) -> None:
        self._storages: dict[int, UntypedStorage] = {}
        self._borrowed: dict[int, weakref.ref[Any]] = {}
        self._opened: dict[int, UntypedStorage] = {}  # of the message that is being read
        self._returned: deque[int] = deque()
        self._retired: list[int] = []
        _live.add(self)

    def loads(self, data: Any) -> Any:
        """The object of a message."""
        _receiving.append(self)
        try:
            dropped, obj = pickle.loads(data)
        finally:
            _receiving.pop()
            self._opened = {}
        for number in dropped:
            self._forget(number)
        return obj

    def given_back(self) -> tuple[list[int], list[int]]:
        """Blocks that are free again, and those that never will be; each is told once."""
        returned = [self._returned.popleft() for _ in range(len(self._returned))]
        retired, self._retired = self._retired, []
        return returned, retired

    def retire(self) -> None:
        """Before a fork: the child will have the batches that are alive now, and nobody learns when
        it drops them."""
        for number in [n for n, ref in list(self._borrowed.items()) if ref() is not None]:
            self._retired.append(number)
            self._forget(number)

    def borrow(self, number: int, storage: UntypedStorage | None) -> UntypedStorage:
        """The memory of a block, until the last tensor on it goes."""
        if storage is not None:
            self._storages[number] = storage
        if number not in self._opened:
            memory = memoryview(self._storages[number])  # type: ignore[arg-type]
            returned = self._returned
            self._borrowed[number] = weakref.ref(memory, lambda _: returned.append(number))
            self._opened[number] = UntypedStorage._restore(memory, _CPU)
        return self._opened[number]

    def _forget(self, number: int) -> None:
        self._storages.pop(number, None)
        self._borrowed.pop(number, None)


def _rebuild(
    number: int,
    storage: UntypedStorage | None,
    dtype: flambeau.dtype,
    offset: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    requires_grad: bool,
) -> Tensor:
    tensor = _receiving[-1].borrow(number, storage)._view(dtype, offset, sizes, strides)
    return tensor.requires_grad_() if requires_grad else tensor


def _retire_all() -> None:
    for leases in list(_live):
        leases.retire()


os.register_at_fork(before=_retire_all)
