"""Groups of processes, and how a call of all of them is made."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.autograd.graph import increment_version
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.exchange import Exchange, Shared
from flambeau.distributed.mesh import Mesh
from flambeau.distributed.store import Store
from flambeau.distributed.titles import titled
from flambeau.distributed.wire import seconds
from flambeau.distributed.work import Lane, Work


def checked(operation: str, name: str, tensor: Any) -> Tensor:
    """A tensor that can travel; TypeError or RuntimeError says why not."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{operation}: {name} must be a Tensor, got {type(tensor).__name__}")
    if tensor.layout is not flambeau.strided:
        raise RuntimeError(f"{operation}: {name} must be dense, got layout {tensor.layout}")
    if tensor.device.type != "cpu":
        raise RuntimeError(
            f"{operation}: {name} is on {tensor.device}, and 'gloo' carries tensors of the cpu; "
            "send cpu() of it"
        )
    return tensor.detach()


def checked_list(operation: str, name: str, tensors: Any) -> list[Tensor]:
    """A list of tensors that can travel."""
    if not isinstance(tensors, list | tuple):
        raise TypeError(
            f"{operation}: {name} must be a list of tensors, got {type(tensors).__name__}"
        )
    return [checked(operation, f"{name}[{i}]", tensor) for i, tensor in enumerate(tensors)]


def described(tensor: Tensor) -> str:
    """The dtype and the shape, as processes compare them."""
    return f"{str(tensor.dtype).rpartition('.')[2]} {list(tensor.shape)}"


class Results:
    """Tensors that a call writes to: contiguous ones in place, others by way of a copy."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = list(tensors)
        self.flat = [tensor.contiguous().reshape(-1) for tensor in tensors]

    def finish(self) -> None:
        for tensor, flat in zip(self.tensors, self.flat, strict=True):
            if not tensor.is_contiguous():
                tensor.copy_(flat.view(tensor.shape))
            else:
                increment_version(tensor)


class ProcessGroup:
    """Processes that make collective calls together. `new_group` and `init_process_group` make it.

    Args:
        mesh: the connections of this process.
        name: the same in all of its processes.
        ranks: of its processes among all, in the order of their ranks in the group.
        timeout: how long a call may take.
        backend: the name of what carries messages.
        store: of this group.

    Example:
        >>> group = flambeau.distributed.new_group([0], group_desc="the first")
        >>> group
        <ProcessGroup 1: ranks [0] over gloo>
        >>> group.rank(), group.size(), group.group_desc
        (0, 1, 'the first')
    """

    def __init__(
        self,
        mesh: Mesh,
        name: str,
        ranks: list[int],
        timeout: timedelta,
        backend: str,
        store: Store,
        group_desc: str = "undefined",
    ) -> None:
        self.mesh = mesh
        self.group_name = name
        self.group_desc = group_desc
        self.ranks = ranks
        self.timeout = timeout
        self.backend = backend
        self.number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")
        self.calls = Lane(f"group {name}")
        self.letters = Lane(f"letters of group {name}")
        self._store = store
        self._shared = Shared()
        self._count = 0
        self._lock = threading.Lock()
        self._closed = False

    def rank(self) -> int:
        """Of this process, in the group."""
        return self.ranks.index(self.mesh.rank)

    def size(self) -> int:
        """The number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """Of the backend."""
        return self.backend

    def get_group_store(self) -> Store:
        """The store of this group."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long later calls may take."""
        seconds(timeout)
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: ranks {self.ranks} over {self.backend}>"

    def check_open(self, operation: str) -> None:
        """DistBackendError after the group's end."""
        if self._closed:
            raise DistBackendError(f"{operation}: the process group was destroyed")

    def close(self) -> None:
        """Waits for what is under way, and ends."""
        self.calls.drain(seconds(self.timeout))
        self.letters.drain(seconds(self.timeout))
        self._closed = True

    def call(
        self,
        words: str,
        act: Callable[[Exchange], Any],
        results: Results,
        async_op: bool,
        timeout: timedelta | None = None,
    ) -> Work | None:
        """Makes a collective call.

        Args:
            words: "operation(arguments)", which all processes must agree on.
            act: what happens.
            results: what it writes to.
            async_op: return at once.

        Returns:
            A Work if `async_op`.
        """
        name = words.partition("(")[0]
        self.check_open(name)
        work = Work(name, results.tensors)
        limit = seconds(self.timeout if timeout is None else timeout)
        shared = self._shared
        with self._lock:
            number = self._count
            self._count += 1

            def run() -> None:
                x = Exchange(self.mesh, self.number, self.ranks, number, words, limit, shared)
                with x.running():
                    act(x)
                    results.finish()

            # Under the lock: calls run in the order of their numbers.
            mine = self.calls.submit(titled(name, run), work, here=not async_op)
        if async_op:
            return work
        if mine is not None:
            mine()
        work.wait()
        return None
