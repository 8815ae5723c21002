"""How tensors and storages cross to another process: by a descriptor of their memory.

In a message of this package's pipes and queues the descriptor travels with it. Python's own, and
the arguments of a process that starts, get it as Python passes files: the receiver inherits it, or
asks the sender for it.
"""

from __future__ import annotations

import os
from multiprocessing import context
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from flambeau import Tensor, UntypedStorage
from flambeau.multiprocessing.parcels import arrived, packing
from flambeau.nn import Buffer, Parameter


class _Passed:
    """A descriptor that Python passes. It is closed with this object."""

    def __init__(self, descriptor: int) -> None:
        self._sender = os.getpid()
        self._passed = DupFd(descriptor)
        self._descriptor: int | None = None

    def __getstate__(self) -> tuple[int, Any]:
        return self._sender, self._passed

    def __setstate__(self, state: tuple[int, Any]) -> None:
        self._sender, self._passed = state
        self._descriptor = None

    def descriptor(self) -> int:
        """The descriptor in this process."""
        if self._descriptor is None:
            try:
                self._descriptor = self._passed.detach()
            except (OSError, EOFError) as error:
                raise RuntimeError(
                    f"receiving a tensor from another process: process {self._sender}, which sent "
                    "it, has ended before its memory was fetched. It must live until then; queues "
                    f"and pipes of flambeau.multiprocessing do not need that ({error})"
                ) from error
        return self._descriptor

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            os.close(self._descriptor)  # type: ignore[arg-type]


def _passed_on(storage: UntypedStorage, descriptor: int) -> Any:
    """How a message names a descriptor: a number in its parcel, or an object."""
    parcel = packing()
    if parcel is not None:
        return parcel.add(descriptor, storage)
    starting: Any = context.get_spawning_popen()
    if starting is None:
        return _Passed(descriptor)
    # The storage must live until the process has started; each descriptor is inherited once.
    passed = starting.__dict__.setdefault("_flambeau_passed", {})
    if descriptor not in passed:
        passed[descriptor] = (storage, _Passed(descriptor))
    return passed[descriptor][1]


def reduce_storage(storage: UntypedStorage) -> Any:
    """A storage by its descriptor."""
    if storage.device.type == "meta":
        return storage.__reduce_ex__(2)
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"sending a tensor to another process: its memory is on {storage.device}, and only "
            "that of the CPU can be shared; send cpu() of it"
        )
    shared, descriptor, offset, nbytes = storage._sent()
    return _rebuild_storage, (_passed_on(shared, descriptor), offset, nbytes)


def _rebuild_storage(passed: Any, offset: int, nbytes: int) -> UntypedStorage:
    descriptor = arrived(passed) if isinstance(passed, int) else passed.descriptor()
    return UntypedStorage._received(descriptor, offset, nbytes)


def check_leaf(tensor: Tensor) -> None:
    """Refuses tensors whose gradients would have to cross."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "sending a tensor to another process: this one requires grad and is the result of an "
            "operation, and gradients do not cross processes; send detach() of it"
        )


def _reduce_tensor(tensor: Tensor) -> Any:
    check_leaf(tensor)
    return tensor.__reduce_ex__(2)


ForkingPickler.register(UntypedStorage, reduce_storage)
for _kind in (Tensor, Parameter, Buffer):
    ForkingPickler.register(_kind, _reduce_tensor)
