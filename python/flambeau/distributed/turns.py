"""A collective call that processes of one machine make over the memory that they share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flambeau import Tensor
from flambeau.distributed import board as boards
from flambeau.distributed import futex
from flambeau.distributed.board import ROOM, Board
from flambeau.distributed.combining import Reduction, bounds
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.mesh import PeerLost

if TYPE_CHECKING:
    from flambeau.distributed.exchange import Exchange

_SMALL = 1 << 14
"""Bytes up to which every rank sums all: one turn, where dividing the work takes two."""

_TRIALS = 100
"""How often a rank looks before it sleeps."""

_NAP = 0.01
"""Seconds between two looks at what else may have happened."""

_ASK, _ANSWER, _VERDICT = 1 << 30, (1 << 30) + 1, (1 << 30) + 2


class Abandoned(Exception):
    """Some rank uses the memory no longer; nothing has been written to any tensor."""


def share(x: Exchange) -> Board | None:
    """The memory of a group whose ranks all make this call; None: they are on several machines."""
    if x.size == 1:
        return None
    if x.rank == 0:
        made = boards.create(x.size)
        name, memory = made if made is not None else ("", None)
        try:
            for rank in range(1, x.size):
                x.send(rank, name.encode(), _ASK)
            slots = [x.expect(rank, None, _ANSWER) for rank in range(1, x.size)]
            well = [bytes(x.take(slot)) == b"yes" for slot in slots]
            for rank in range(1, x.size):
                x.send(rank, b"yes" if all(well) else b"no", _VERDICT)
        finally:
            boards.remove(name)
    else:
        name = bytes(x.take(x.expect(0, None, _ASK))).decode()
        memory = boards.open_file(name, x.size) if name else None
        x.send(0, b"no" if memory is None else b"yes", _ANSWER)
        well = [bytes(x.take(x.expect(0, None, _VERDICT))) == b"yes"]
    return Board(memory, x.rank, x.size) if memory is not None and all(well) else None


class Turns:
    """The turns of one call.

    Args:
        x: the call.
        board: the group's memory.
    """

    def __init__(self, x: Exchange, board: Board) -> None:
        self._x = x
        self._board = board
        self._first = True
        self.rank, self.size = x.rank, x.size
        self.room = board.room

    def run(self, act: Callable[[Turns], None]) -> None:
        """Makes the call: at least one turn, in which the ranks see that they call the same."""
        act(self)
        if self._first:
            self.meet()

    def next_half(self) -> None:
        """Goes on to the other room, for new data."""
        self._board.half ^= 1

    def meet(self) -> None:
        """Shows what this rank has written, and waits for all others to do so."""
        board, x = self._board, self._x
        board.turn += 1
        board.come(board.turn, x.call, x.words)
        for step in range(1, x.size):
            self._await((x.rank + step) % x.size)
        mine = (x.call, boards.digest(x.words))
        for rank in range(x.size):
            call, mark, words = board.said(rank, board.turn)
            if (call, mark) != mine:
                raise x.differs(rank, words)
        self._first = False

    def _await(self, rank: int) -> None:
        board, turn = self._board, self._board.turn
        for _ in range(_TRIALS):
            if board.progress(rank) >= turn:
                return
            futex.give_way()
        while (seen := board.progress(rank)) < turn:
            self._check(rank)
            board.sleep(rank, seen, _NAP)

    def _check(self, rank: int) -> None:
        """Raises if a rank will not come."""
        board, x = self._board, self._x
        # Before the last look at its progress: what it has written stays, if it leaves then.
        lost = x.lost(rank)
        given_up = board.given_up(rank)
        call, _, words = board.announced(rank)
        if board.progress(rank) >= board.turn:
            return
        if given_up is not None and given_up < x.call and self._first:
            raise Abandoned
        failure = x.failure()
        if failure is not None:
            raise PeerLost(failure)
        if words and call >= x.call:
            raise x.differs(rank, words)
        if lost is not None:
            raise PeerLost(lost)
        if given_up is not None:
            raise PeerLost(f"{x.name}: it failed on rank {x.member(rank)}")
        if time.monotonic() > x.deadline:
            raise DistBackendError(x.late(rank))


def all_reduce(turns: Turns, tensor: Tensor, how: Reduction) -> None:
    """Each rank sums a part of the tensor, and all copy all parts."""
    dtype, size = tensor.dtype, turns.size
    whole = tensor.numel() * dtype.itemsize > _SMALL
    for piece in tensor.split(ROOM // dtype.itemsize):
        count = piece.numel()
        turns.next_half()
        rooms = [turns.room(rank, dtype, count) for rank in range(size)]
        rooms[turns.rank].copy_(piece)
        how.begin(rooms[turns.rank])
        turns.meet()
        if not whole:
            piece.copy_(rooms[0])
            for other in rooms[1:]:
                how.combine(piece, other)
            how.end(piece)
            return
        begin = bounds(count, size)
        parts = [slice(begin[rank], begin[rank + 1]) for rank in range(size)]
        mine = parts[turns.rank]
        total = rooms[turns.rank][mine]
        for step in range(1, size):
            how.combine(total, rooms[(turns.rank + step) % size][mine])
        how.end(total)
        turns.meet()
        for part, room in zip(parts, rooms, strict=True):
            piece[part].copy_(room[part])


def reduce_scatter(turns: Turns, output: Tensor, inputs: Sequence[Tensor], how: Reduction) -> None:
    """Each rank shows its parts to all, and sums those that are for it."""
    dtype, size = output.dtype, turns.size
    length = ROOM // dtype.itemsize // size
    for begin in range(0, output.numel(), length):
        piece = output[begin : begin + length]
        count = piece.numel()
        turns.next_half()
        mine = turns.room(turns.rank, dtype, count * size)
        for part, given in zip(mine.split(count), inputs, strict=True):
            part.copy_(given[begin : begin + length])
        how.begin(mine)
        turns.meet()
        rooms = [turns.room(rank, dtype, count * size).split(count) for rank in range(size)]
        piece.copy_(rooms[0][turns.rank])
        for room in rooms[1:]:
            how.combine(piece, room[turns.rank])
        how.end(piece)


def all_gather(turns: Turns, outputs: Sequence[Tensor], mine: Tensor) -> None:
    """Each rank shows its tensor, and copies those of all."""
    dtype = mine.dtype
    length = ROOM // dtype.itemsize
    for begin in range(0, mine.numel(), length):
        piece = mine[begin : begin + length]
        turns.next_half()
        turns.room(turns.rank, dtype, piece.numel()).copy_(piece)
        turns.meet()
        for rank, output in enumerate(outputs):
            output[begin : begin + length].copy_(turns.room(rank, dtype, piece.numel()))


def broadcast(turns: Turns, tensor: Tensor, root: int) -> None:
    """The root shows its tensor, and the others copy it."""
    for piece in tensor.split(ROOM // tensor.dtype.itemsize):
        turns.next_half()
        room = turns.room(root, tensor.dtype, piece.numel())
        if turns.rank == root:
            room.copy_(piece)
        turns.meet()
        if turns.rank != root:
            piece.copy_(room)
