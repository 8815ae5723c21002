"""What the processes of a group send each other in collective calls.

Tensors here are contiguous and of one dimension. All orders of summation are the same on every
rank, or only one rank sums: results are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.distributed import turns
from flambeau.distributed.combining import Reduction, bounds
from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.exchange import Exchange
from flambeau.distributed.mesh import PeerLost

_SMALL = 1 << 15
"""Bytes up to which everybody sends everything to everybody: one step, where a ring takes many."""


def all_reduce(x: Exchange, tensor: Tensor, how: Reduction) -> None:
    """Combines the tensors of all ranks, in place."""
    if x.share(lambda shared: turns.all_reduce(shared, tensor, how)):
        return
    how.begin(tensor)
    if x.size == 1 or tensor.numel() == 0:
        barrier(x)
    elif tensor.numel() * tensor.element_size() <= _SMALL or tensor.numel() < x.size:
        _all_to_all_reduce(x, tensor, how)
    else:
        _ring_reduce(x, tensor, how)
        return
    how.end(tensor)


def _all_to_all_reduce(x: Exchange, tensor: Tensor, how: Reduction) -> None:
    parts = flambeau.empty((x.size, tensor.numel()), dtype=tensor.dtype)
    all_to_all(x, list(parts), [tensor] * x.size)
    tensor.copy_(parts[0])
    for part in parts[1:]:
        how.combine(tensor, part)


def _ring_reduce(x: Exchange, tensor: Tensor, how: Reduction) -> None:
    """Each part goes around once to be summed, and once to be known (P. Patarasuk and X. Yuan,
    "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
    """
    size, left, right = x.size, (x.rank - 1) % x.size, (x.rank + 1) % x.size
    begin = bounds(tensor.numel(), size)
    parts = [tensor[begin[i] : begin[i + 1]] for i in range(size)]
    come = [flambeau.empty(begin[1] + 1, dtype=tensor.dtype) for _ in range(2)]

    def expected(step: int) -> Tensor:
        return come[step % 2][: parts[(x.rank - step - 1) % size].numel()]

    slots = [x.expect(left, expected(0), 0)]
    for step in range(size - 1):
        if step + 1 < size - 1:
            slots.append(x.expect(left, expected(step + 1), step + 1))
        x.send(right, parts[(x.rank - step) % size], step)
        x.take(slots[step])
        how.combine(parts[(x.rank - step - 1) % size], expected(step))
    how.end(parts[right])
    ring_gather(x, [parts[(i + 1) % size] for i in range(size)], size)


def ring_gather(x: Exchange, parts: Sequence[Tensor], first: int) -> None:
    """Every rank has the part of its number; afterwards it has all."""
    size, left, right = x.size, (x.rank - 1) % x.size, (x.rank + 1) % x.size
    slots = [
        x.expect(left, parts[(x.rank - step - 1) % size], first + step) for step in range(size - 1)
    ]
    for step, slot in enumerate(slots):
        x.send(right, parts[(x.rank - step) % size], first + step)
        x.take(slot)


def all_gather(x: Exchange, outputs: Sequence[Tensor], mine: Tensor) -> None:
    """`outputs[i]` becomes the tensor of rank i."""
    if x.share(lambda shared: turns.all_gather(shared, outputs, mine)):
        return
    all_to_all(x, outputs, [mine] * x.size)


def all_to_all(x: Exchange, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """`outputs[i]` becomes what rank i has for this one."""
    slots = {i: x.expect(i, outputs[i]) for i in _others(x)}
    for i in _others(x):
        x.send(i, inputs[i])
    if inputs[x.rank].data_ptr() != outputs[x.rank].data_ptr():
        outputs[x.rank].copy_(inputs[x.rank])
    for slot in slots.values():
        x.take(slot)


def _others(x: Exchange) -> list[int]:
    """The other ranks, beginning with the next: not all send to one at a time."""
    return [(x.rank + i) % x.size for i in range(1, x.size)]


def reduce_scatter(x: Exchange, output: Tensor, inputs: Sequence[Tensor], how: Reduction) -> None:
    """`output` becomes the combination of `inputs[rank]` of all ranks, in their order."""
    if x.share(lambda shared: turns.reduce_scatter(shared, output, inputs, how)):
        return
    parts = flambeau.empty((x.size, output.numel()), dtype=output.dtype)
    sent = [part.clone() if how.factor is not None else part for part in inputs]
    if how.factor is not None:
        for part in sent:
            how.begin(part)
    all_to_all(x, list(parts), sent)
    output.copy_(parts[0])
    for part in parts[1:]:
        how.combine(output, part)
    how.end(output)


def broadcast(x: Exchange, tensor: Tensor, root: int) -> None:
    """Everybody gets the tensor of the root, over a binomial tree."""
    if x.share(lambda shared: turns.broadcast(shared, tensor, root)):
        return
    place = (x.rank - root) % x.size
    span = 1
    while span < x.size and not place & span:
        span *= 2
    if place:
        x.take(x.expect((x.rank - span) % x.size, tensor))
    span //= 2
    while span:
        if place + span < x.size:
            x.send((x.rank + span) % x.size, tensor)
        span //= 2


def reduce(x: Exchange, tensor: Tensor, root: int, how: Reduction) -> None:
    """The root's tensor becomes the combination of all, over a binomial tree."""
    total = tensor if x.rank == root else tensor.clone()
    how.begin(total)
    place = (x.rank - root) % x.size
    come = flambeau.empty_like(total)
    span = 1
    while span < x.size and not place & span:
        if place + span < x.size:
            x.take(x.expect((x.rank + span) % x.size, come))
            how.combine(total, come)
        span *= 2
    if place:
        x.send((x.rank - span) % x.size, total)
    else:
        how.end(total)


def gather(x: Exchange, outputs: Sequence[Tensor] | None, mine: Tensor, root: int) -> None:
    """The root's `outputs[i]` becomes the tensor of rank i."""
    if outputs is None:
        x.send(root, mine)
        return
    slots = [x.expect(i, outputs[i]) for i in _others(x)]
    outputs[x.rank].copy_(mine)
    for slot in slots:
        x.take(slot)


def scatter(x: Exchange, output: Tensor, inputs: Sequence[Tensor] | None, root: int) -> None:
    """`output` becomes the root's `inputs[rank]`."""
    if inputs is None:
        x.take(x.expect(root, output))
        return
    for i in _others(x):
        x.send(i, inputs[i])
    output.copy_(inputs[x.rank])


def barrier(x: Exchange) -> None:
    """Ends when all have begun (D. Hensgen, R. Finkel, U. Manber, 1988): in each round one hears of
    twice as many.
    """
    if x.share(turns.Turns.meet):
        return
    span = step = 1
    while span < x.size:
        slot = x.expect((x.rank - span) % x.size, None, step)
        x.send((x.rank + span) % x.size, b"", step)
        x.take(slot)
        span, step = 2 * span, step + 1


def monitored_barrier(x: Exchange, all_ranks: bool) -> list[int]:
    """A barrier in which rank 0 hears from all; the ranks of the group that did not come."""
    if x.rank:
        x.send(0, b"", 1)
        x.take(x.expect(0, None, 2))
        return []
    missing = []
    for i in _others(x):
        try:
            x.take(x.expect(i, None, 1))
        except (DistBackendError, PeerLost) as error:
            if "different" in str(error):
                raise
            missing.append(i)
            if not all_ranks:
                break
    if not missing:
        for i in _others(x):
            x.send(i, b"", 2)
    return missing
