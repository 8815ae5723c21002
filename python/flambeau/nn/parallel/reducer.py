"""Averaging gradients over processes while backward still runs."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.distributed import ReduceOp, all_reduce
from flambeau.distributed.process_group import ProcessGroup
from flambeau.futures import Future

FIRST_BUCKET = 1 << 20
"""Bytes of the first bucket: small, so that sending begins early."""


class _Bucket:
    """Gradients that are averaged in one call.

    Args:
        index: among the buckets.
        numbers: of the parameters.
        parameters: these.
    """

    def __init__(self, index: int, numbers: list[int], parameters: Sequence[Tensor]) -> None:
        self.index = index
        self.numbers = numbers
        self.parameters = list(parameters)
        count = sum(parameter.numel() for parameter in parameters)
        self.flat = flambeau.zeros(count, dtype=parameters[0].dtype)
        self.views = []
        begin = 0
        for parameter in parameters:
            # No views to autograd: optimizers detach gradients in place.
            shape = list(parameter.shape)
            strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
            storage = self.flat.untyped_storage()
            self.views.append(storage._view(parameter.dtype, begin, shape, strides))
            begin += parameter.numel()
        self.waiting = len(numbers)
        self.work: Any = None


class GradBucket:
    """What a communication hook gets: the gradients of some parameters, in one piece of memory.

    Args:
        last: whether no other bucket follows.

    Example:
        >>> def average(state, bucket):  # in each of two processes
        ...     work = flambeau.distributed.all_reduce(bucket.buffer().div_(2), async_op=True)
        ...     return work.get_future().then(lambda done: done.value()[0])
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(None, average)
        >>> rank = flambeau.distributed.get_rank()
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad
        tensor([[2.]])
    """

    def __init__(self, bucket: _Bucket, last: bool, buffer: Tensor | None = None) -> None:
        self._bucket = bucket
        self._last = last
        self._buffer = bucket.flat if buffer is None else buffer

    def index(self) -> int:
        """The number of the bucket: in each backward, 0 is the first that is ready."""
        return self._bucket.index

    def is_last(self) -> bool:
        """Whether no bucket of this backward follows."""
        return self._last

    def buffer(self) -> Tensor:
        """The gradients, of one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Takes another tensor as the buffer, of as many elements."""
        if buffer.numel() != self._buffer.numel():
            raise RuntimeError(
                f"GradBucket.set_buffer: expected {self._buffer.numel()} elements, got "
                f"{buffer.numel()}"
            )
        self._buffer = buffer.reshape(-1)

    def with_buffer(self, buffer: Tensor) -> GradBucket:
        """The same bucket with another buffer."""
        return GradBucket(self._bucket, self._last, buffer)

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter, in the buffer's memory."""
        counts = [parameter.numel() for parameter in self._bucket.parameters]
        parts = self._buffer.split(counts)
        return [p.view(q.shape) for p, q in zip(parts, self._bucket.parameters, strict=True)]

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._bucket.parameters)


Hook = Callable[[Any, GradBucket], "Future[Tensor]"]


def buckets_of(parameters: Sequence[Tensor], cap: int) -> Iterator[list[int]]:
    """Numbers of parameters whose gradients go together, the last ones first: backward comes to
    them first. All of a bucket have one dtype.
    """
    bucket: list[int] = []
    size, limit = 0, min(FIRST_BUCKET, cap)
    for number in reversed(range(len(parameters))):
        parameter = parameters[number]
        nbytes = parameter.numel() * parameter.element_size()
        mixed = bucket and parameters[bucket[0]].dtype != parameter.dtype
        if bucket and (mixed or size + nbytes > limit):
            yield bucket
            bucket, size, limit = [], 0, cap
        bucket.append(number)
        size += nbytes
    if bucket:
        yield bucket


class Reducer:
    """Averages the gradients of parameters over a group, at each backward that it was told of.

    Args:
        parameters: with their names; the same in all processes.
        group: of processes.
        cap: bytes of a bucket.
        find_unused: whether some may get no gradient.
        as_view: gradients lie in the buckets.
    """

    def __init__(
        self,
        parameters: Sequence[tuple[str, Tensor]],
        group: ProcessGroup,
        cap: int,
        find_unused: bool,
        as_view: bool,
    ) -> None:
        self._names = [name for name, _ in parameters]
        self._parameters = [parameter for _, parameter in parameters]
        self._numbers = {id(parameter): i for i, parameter in enumerate(self._parameters)}
        self._group = group
        self._find_unused = find_unused
        self._as_view = as_view
        self._buckets = [
            _Bucket(index, numbers, [self._parameters[i] for i in numbers])
            for index, numbers in enumerate(buckets_of(self._parameters, cap))
        ]
        self._places = {
            number: (bucket, bucket.views[i])
            for bucket in self._buckets
            for i, number in enumerate(bucket.numbers)
        }
        self._hook: Callable[[GradBucket], Any] | None = None
        self.divisor = group.size()
        self._expecting = self._begun = False
        self._ready: set[int] = set()
        self._unused: list[int] = []
        self._next = 0
        self._used: Tensor | None = None
        self._used_work: Any = None
        me = weakref.ref(self)
        self._handles = [
            parameter.register_post_accumulate_grad_hook(functools.partial(_arrived, me, number))
            for number, parameter in enumerate(self._parameters)
        ]

    def remove(self) -> None:
        """Takes the hooks off the parameters."""
        for handle in self._handles:
            handle.remove()

    def communicate(self, state: Any, hook: Hook) -> None:
        """Lets a hook average the gradients."""
        self._hook = functools.partial(hook, state)

    def shadow(self) -> None:
        """Takes part in what the other processes' backward averages, with gradients of zero."""
        if self._find_unused:
            self._used = flambeau.zeros(len(self._parameters), dtype=flambeau.int32)
            self._used_work = all_reduce(self._used, group=self._group, async_op=True)
        for bucket in self._buckets:
            bucket.flat.zero_()
            self._send(bucket)
        self._finish()

    def check_finished(self) -> None:
        """RuntimeError if a backward has begun that gave some parameters no gradient."""
        if not self._begun:
            return
        missing = [n for i, n in enumerate(self._names) if i not in self._ready]
        raise RuntimeError(
            "DistributedDataParallel: Expected to have finished reduction in the prior iteration "
            f"before starting a new one: on rank {self._group.mesh.rank} no gradient came for "
            f"{', '.join(missing[:10])}{', ...' if len(missing) > 10 else ''}. Pass "
            "find_unused_parameters=True where the output does not depend on all parameters"
        )

    def prepare(self, outputs: Any) -> None:
        """Says that a backward from these outputs will come."""
        self._expecting, self._begun = True, False
        self._ready.clear()
        self._next = 0
        for bucket in self._buckets:
            bucket.waiting, bucket.work = len(bucket.numbers), None
        self._unused = []
        if self._find_unused:
            reached = {self._numbers.get(id(tensor)) for tensor in _leaves(outputs)}
            self._unused = [i for i in range(len(self._parameters)) if i not in reached]

    def skip(self) -> None:
        """Says that the next backward is of this process alone."""
        self._expecting = False

    def _begin(self) -> None:
        self._begun = True
        if self._find_unused:
            self._used = flambeau.ones(len(self._parameters), dtype=flambeau.int32)
            self._used[self._unused] = 0
        for number in self._unused:
            self._take(number)

    def arrived(self, number: int) -> None:
        """Is called when the gradient of a parameter is there."""
        if not self._expecting:
            return
        if not self._begun:
            self._begin()
        self._take(number)
        if self._next == len(self._buckets):
            self._expecting = False
            _C._autograd.queue_callback(self._finish)

    def _take(self, number: int) -> None:
        if number in self._ready:
            raise RuntimeError(
                "DistributedDataParallel: Expected to mark a variable ready only once: parameter "
                f"{self._names[number]} got its gradient twice in one backward, or was found to "
                "be unused and got one"
            )
        self._ready.add(number)
        bucket, view = self._places[number]
        gradient = self._parameters[number].grad
        if gradient is None:
            view.zero_()
        elif gradient.layout is not flambeau.strided:
            raise RuntimeError(
                f"DistributedDataParallel: the gradient of {self._names[number]} is sparse; only "
                "dense ones are averaged"
            )
        elif gradient.data_ptr() != view.data_ptr():
            with flambeau.no_grad():
                view.copy_(gradient.detach())
        bucket.waiting -= 1
        # In the same order everywhere, whatever the order of the gradients.
        while self._next < len(self._buckets) and not self._buckets[self._next].waiting:
            if self._next == 0 and self._used is not None:
                self._used_work = all_reduce(self._used, group=self._group, async_op=True)
            ready = self._buckets[self._next]
            self._send(ready)
            self._next += 1

    def _send(self, bucket: _Bucket) -> None:
        """Begins to average a bucket."""
        if self._hook is None:
            bucket.work = all_reduce(bucket.flat, ReduceOp.SUM, self._group, async_op=True)
            return
        future = self._hook(GradBucket(bucket, bucket is self._buckets[-1]))
        if not isinstance(future, Future):
            raise RuntimeError(
                "DistributedDataParallel: a communication hook must return a Future, got "
                f"{type(future).__name__}"
            )
        bucket.work = future

    def _receive(self, bucket: _Bucket) -> None:
        """Waits until the averages are in a bucket."""
        averages, bucket.work = bucket.work.wait(), None
        if self._hook is None:
            bucket.flat.div_(self.divisor)
            return
        if isinstance(averages, list | tuple) and len(averages) == 1:
            (averages,) = averages
        flat = bucket.flat
        if not isinstance(averages, Tensor) or averages.numel() != flat.numel():
            got = list(averages.shape) if isinstance(averages, Tensor) else type(averages).__name__
            raise RuntimeError(
                "DistributedDataParallel: the future of a communication hook must give a tensor "
                f"of the bucket's {flat.numel()} elements, got {got}"
            )
        if averages.data_ptr() != flat.data_ptr() or averages.dtype != flat.dtype:
            flat.copy_(averages.detach().reshape(-1))

    def _finish(self) -> None:
        """Waits for the averages, and makes them the gradients."""
        used = None
        if self._used is not None:
            self._used_work.wait()
            used = self._used.tolist()
            self._used = self._used_work = None
        for bucket in self._buckets:
            self._receive(bucket)
        with flambeau.no_grad():
            for number, parameter in enumerate(self._parameters):
                if used is not None and not used[number]:
                    continue  # nobody has a gradient
                self._set(parameter, self._places[number][1])
        self._begun = False

    def _set(self, parameter: Tensor, view: Tensor) -> None:
        gradient = parameter.grad
        if self._as_view:
            if gradient is None or gradient.data_ptr() != view.data_ptr():
                parameter.grad = view
        elif gradient is None:
            parameter.grad = view.clone()
        else:
            gradient.detach().copy_(view)


def _arrived(reducer: weakref.ref[Reducer], number: int, parameter: Tensor) -> None:
    alive = reducer()
    if alive is not None:
        alive.arrived(number)


def _tensors(obj: Any) -> Iterator[Tensor]:
    """The tensors of results: in tuples, lists, dicts, and objects with attributes."""
    if isinstance(obj, Tensor):
        yield obj
    elif isinstance(obj, list | tuple | set):
        for item in obj:
            yield from _tensors(item)
    elif isinstance(obj, dict):
        for item in obj.values():
            yield from _tensors(item)
    elif hasattr(obj, "__dict__") and not isinstance(obj, type):
        for item in vars(obj).values():
            yield from _tensors(item)


def _leaves(outputs: Any) -> Iterator[Tensor]:
    """The leaves of the graphs of results."""
    waiting = []
    for tensor in _tensors(outputs):
        if tensor.grad_fn is not None:
            waiting.append(tensor.grad_fn)
        elif tensor.requires_grad:
            yield tensor
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            yield leaf
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
