"""Messages from one process to another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributed.collectives import root_in
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.exchange import raw
from flambeau.distributed.mesh import PeerLost, Slot, wait
from flambeau.distributed.process_group import ProcessGroup, Results, checked
from flambeau.distributed.wire import seconds
from flambeau.distributed.work import Work
from flambeau.distributed.world import Group, joined


def _words(tensor: Tensor) -> bytes:
    return f"{tensor.numel()} elements of {str(tensor.dtype).rpartition('.')[2]}".encode()


def _tag(operation: str, tag: int) -> int:
    if tag < 0:
        raise ValueError(f"{operation}: tag must not be negative, got {tag}")
    return tag


def _other(found: ProcessGroup, operation: str, name: str, rank: Any, in_group: Any) -> int:
    """The rank among all of the other side."""
    other = found.ranks[root_in(found, operation, name, rank, in_group)]
    if other == found.mesh.rank:
        raise ValueError(f"{operation}: {name} is rank {other}, this process itself")
    return other


def _post(operation: str, tensor: Any, dst: Any, group: Group, tag: int, group_dst: Any) -> Any:
    """What sends a tensor, and the group; None outside of it."""
    sent = checked(operation, "tensor", tensor)
    found = joined(group, operation)
    if found is None:
        return None
    to = _other(found, operation, "dst", dst, group_dst)
    found.check_open(operation)
    number, limit = _tag(operation, tag), seconds(found.timeout)

    def post() -> None:
        found.mesh.patience(limit)
        try:
            found.mesh.post(to, found.number, number, _words(sent), raw(sent.contiguous()))
        except PeerLost as lost:
            raise DistBackendError(
                f"{operation}: rank {found.mesh.rank} cannot send to rank {to}: {lost}"
            ) from None

    return found, post, sent


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Sends a tensor to another process, and returns at once.

    Args:
        tensor: of any dtype; it must not change until the Work is done.
        dst: the rank among all; or
        group_dst: the rank in the group.
        group: of both; None: all.
        tag: the receiver asks for it.

    Returns:
        A Work; done when the system has taken the tensor.

    Example:
        >>> x = flambeau.zeros(2)
        >>> if flambeau.distributed.get_rank() == 0:  # in each of two processes
        ...     work = flambeau.distributed.isend(flambeau.ones(2), dst=1, tag=7)
        ... else:
        ...     work = flambeau.distributed.irecv(x, src=0, tag=7)
        >>> work.wait()
        True
        >>> x.sum().item() / 2 == flambeau.distributed.get_rank()
        True
    """
    posted = _post("isend", tensor, dst, group, tag, group_dst)
    if posted is None:
        return None
    found, post, sent = posted
    work = Work("isend", [sent])
    found.letters.submit(post, work, here=False)
    return work


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor to another process; arguments as of `isend`.

    Raises:
        DistBackendError: the other process is gone.

    Example:
        >>> x = flambeau.tensor([1, 2])
        >>> if flambeau.distributed.get_rank() == 0:  # in each of two processes
        ...     flambeau.distributed.send(10 * x, dst=1)
        ...     _ = flambeau.distributed.recv(x, src=1)
        ... else:
        ...     come = flambeau.zeros_like(x)
        ...     _ = flambeau.distributed.recv(come, src=0)
        ...     flambeau.distributed.send(x + come, dst=0)
        ...     x += come
        >>> x
        tensor([11, 22])
    """
    posted = _post("send", tensor, dst, group, tag, group_dst)
    if posted is not None:
        found, post, sent = posted
        work = Work("send", [sent])
        mine = found.letters.submit(post, work, here=True)
        if mine is not None:
            mine()
        work.wait()


class _Received(Work):
    """A message that is awaited: whoever waits for it checks and finishes it."""

    def __init__(
        self, name: str, found: ProcessGroup, slot: Slot, results: Results, tag: int
    ) -> None:
        super().__init__(name, results.tensors)
        self._slot = slot
        self._found = found
        self._results = results
        self._tag = tag
        self._deadline = time.monotonic() + seconds(found.timeout)
        self._from = "any rank" if slot.source is None else f"rank {slot.source}"

    def is_completed(self) -> bool:
        if self._slot.arrived.is_set():
            self._settle()
        return super().is_completed()

    def is_success(self) -> bool:
        self.is_completed()
        return super().is_success()

    def exception(self) -> BaseException | None:
        self.is_completed()
        return super().exception()

    def wait(self, timeout: timedelta | None = None) -> bool:
        deadline = self._deadline
        if timeout is not None and seconds(timeout):
            deadline = min(deadline, time.monotonic() + seconds(timeout))
        if not self._done.is_set():
            wait(self._slot, deadline)
            self._settle()
        return super().wait()

    def source_rank(self) -> int:
        self.wait()
        return super().source_rank()

    def _settle(self) -> None:
        """Checks the message that has come, or says that none has."""
        if self._done.is_set():
            return
        slot, rank = self._slot, self._found.mesh.rank
        expected = _words(self._results.flat[0])
        error = None
        if not slot.arrived.is_set():
            self._found.mesh.give_up(slot)
            error = f"rank {rank} waited for a message of {self._from} with tag {self._tag}: none"
            error += " has come in time"
        elif slot.error is not None:
            error = f"rank {rank} waits for a message of {self._from}, and {slot.error}"
        elif slot.words != expected:
            error = f"rank {rank} expected {expected.decode()} from {self._from}, rank "
            error += f"{slot.source} has sent {slot.words.decode()}"
        else:
            self._results.finish()
            self._source = slot.source
        self._finish(None if error is None else DistBackendError(f"{self._name}: {error}"))


def _receive(
    operation: str, tensor: Any, src: Any, group: Group, tag: int, group_src: Any
) -> Work | None:
    mine = checked(operation, "tensor", tensor)
    found = joined(group, operation)
    if found is None:
        return None
    source = None
    if src is not None or group_src is not None:
        source = _other(found, operation, "src", src, group_src)
    found.check_open(operation)
    results = Results([mine])
    number = _tag(operation, tag)
    slot = found.mesh.collect(source, found.number, number, raw(results.flat[0]))
    return _Received(operation, found, slot, results, tag)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Receives a tensor, and returns at once.

    Args:
        tensor: is written to; of as many elements, and the dtype, that are sent.
        src: the rank among all; or
        group_src: the rank in the group; neither: of any process.
        group: of both; None: all.
        tag: that it was sent with.

    Returns:
        A Work, whose `source_rank()` tells who sent it.

    Example:
        >>> x = flambeau.zeros(2)
        >>> if flambeau.distributed.get_rank() == 0:  # in each of two processes
        ...     flambeau.distributed.send(flambeau.tensor([3.0, 4.0]), dst=1)
        ... else:
        ...     work = flambeau.distributed.irecv(x)  # of any process
        ...     assert work.source_rank() == 0 and x.tolist() == [3.0, 4.0]
    """
    return _receive("irecv", tensor, src, group, tag, group_src)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives a tensor; arguments as of `irecv`.

    Returns:
        The rank among all of the sender; -1 outside of the group.

    Raises:
        DistBackendError: none came in time, the sender is gone, or sent something else.

    Example:
        >>> x = flambeau.tensor([5.0, 6.0])
        >>> if flambeau.distributed.get_rank() == 0:  # in each of two processes
        ...     flambeau.distributed.send(x, dst=1)
        ... else:
        ...     x = flambeau.zeros(2)
        ...     assert flambeau.distributed.recv(x) == 0  # the sender
        >>> x
        tensor([5., 6.])
    """
    work = _receive("recv", tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """A message for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: that is sent, or written to.
        peer: the rank among all of the other side; or
        group_peer: its rank in the group.
        group: of both; None: all.
        tag: of the message.

    Raises:
        ValueError: op is something else.

    Example:
        >>> flambeau.distributed.P2POp(flambeau.distributed.isend, flambeau.zeros(2, 3), peer=1)
        P2POp(isend, rank 1, [2, 3])
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: op must be distributed.isend or irecv, got {brief(op)}")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer

    def __repr__(self) -> str:
        name = getattr(self.op, "__name__", repr(self.op))
        peer = self.peer if self.group_peer is None else f"{self.group_peer} of its group"
        return f"P2POp({name}, rank {peer}, {list(self.tensor.shape)})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Sends and receives several tensors.

    Args:
        p2p_op_list: what; not empty.

    Returns:
        A Work for each.

    Raises:
        ValueError: the list is empty, or holds something else.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mine, come = flambeau.tensor([rank]), flambeau.tensor([-1])
        >>> send = flambeau.distributed.P2POp(flambeau.distributed.isend, mine, peer=1 - rank)
        >>> receive = flambeau.distributed.P2POp(flambeau.distributed.irecv, come, peer=1 - rank)
        >>> [work.wait() for work in flambeau.distributed.batch_isend_irecv([send, receive])]
        [True, True]
        >>> come.item() == 1 - rank
        True
    """
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError(f"batch_isend_irecv: expected P2POps, got {brief(p2p_op_list)}")
    works = [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
    return [work for work in works if work is not None]
