"""Going through a dataset in batches."""

from __future__ import annotations

import multiprocessing
import pickle
import queue
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from flambeau import Generator
from flambeau.utils.data.collate import default_collate, default_convert
from flambeau.utils.data.dataset import Dataset, IterableDataset
from flambeau.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    new_seed,
)
from flambeau.utils.data.worker import End, Failure, work


class DataLoader:
    """Batches of a dataset, as an iterable.

    Args:
        dataset: samples by index, or an IterableDataset.
        batch_size: samples per batch; None: samples themselves, not collated.
        shuffle: in a new random order each time.
        sampler: the order of indices instead.
        batch_sampler: lists of indices instead; excludes the options above and drop_last.
        num_workers: processes that load batches ahead; 0: load in this process.
        collate_fn: joins a list of samples; None: default_collate.
        pin_memory: accepted; memory of the CPU needs no pinning here.
        drop_last: leave out a last batch that is shorter.
        timeout: seconds to wait for a worker's batch; 0: without end.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how workers start: a context or its name ("fork", "spawn").
        generator: of shuffling and of the workers' seeds.
        prefetch_factor: batches per worker that are loaded ahead; None: 2.
        persistent_workers: keep the workers from one pass to the next.

    Raises:
        ValueError: for options that exclude each other.
        RuntimeError: while iterating, if a worker died or its time was out; what a worker raises is
            raised here.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(f"DataLoader: num_workers must not be negative, got {num_workers}")
        if timeout < 0:
            raise ValueError(f"DataLoader: timeout must not be negative, got {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("DataLoader: prefetch_factor needs num_workers > 0")
        if num_workers == 0 and persistent_workers:
            raise ValueError("DataLoader: persistent_workers needs num_workers > 0")
        self.iterable = isinstance(dataset, IterableDataset)
        if self.iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader: an IterableDataset gives its own order; shuffle, sampler and "
                "batch_sampler do not apply"
            )
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: give sampler or shuffle, not both")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: drop_last needs a batch_size")
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if sampler is None and not self.iterable:
            random = RandomSampler(dataset, generator=generator) if shuffle else None
            sampler = random or SequentialSampler(dataset)
        self.sampler = sampler
        if batch_size is not None and batch_sampler is None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self._collates = batch_sampler is not None or (self.iterable and batch_size is not None)
        if collate_fn is None:
            collate_fn = default_collate if self._collates else default_convert
        self.collate_fn = collate_fn
        self._workers: _Workers | None = None

    def __len__(self) -> int:
        """How many batches there are."""
        if self.iterable:
            samples = len(self.dataset)
            if self.batch_size is None:
                return samples
            full, rest = divmod(samples, self.batch_size)
            return full + (rest > 0 and not self.drop_last)
        order: Any = self.batch_sampler if self._collates else self.sampler
        return len(order)

    def _make_fetch(self) -> Callable[[Any], Callable[[Any], Any]]:
        if self.iterable:
            return partial(
                _iterable_fetch,
                batch_size=self.batch_size,
                drop_last=self.drop_last,
                collate=self.collate_fn,
            )
        return partial(_indexed_fetch, collates=self._collates, collate=self.collate_fn)

    def _order(self) -> Iterator[Any]:
        """What is fetched, batch after batch; without end for an iterable dataset."""
        if self.iterable:
            return iter(lambda: None, 0)
        order: Any = self.batch_sampler if self._collates else self.sampler
        return iter(order)

    def __iter__(self) -> Iterator[Any]:
        # Drawn without workers too: the order of samples then does not depend on num_workers.
        seed = new_seed(self.generator)
        if self.num_workers == 0:
            return self._load_here()
        if not self.persistent_workers:
            return self._with_workers(_Workers(self, seed), keep=False)
        if self._workers is None or not self._workers.alive:
            self._workers = _Workers(self, seed)
        return self._with_workers(self._workers, keep=True)

    def _load_here(self) -> Iterator[Any]:
        fetch = self._make_fetch()(self.dataset)
        for indices in self._order():
            try:
                batch = fetch(indices)
            except StopIteration:
                return
            yield batch

    def _with_workers(self, workers: _Workers, keep: bool) -> Iterator[Any]:
        try:
            yield from workers.batches(self._order(), self.in_order)
        except BaseException:
            workers.stop()
            raise
        if not keep:
            workers.stop()


def _indexed_fetch(dataset: Dataset[Any], collates: bool, collate: Any) -> Callable[[Any], Any]:
    if not collates:
        return lambda index: collate(dataset[index])
    whole = getattr(dataset, "__getitems__", None)
    if whole is not None:
        return lambda indices: collate(whole(indices))
    return lambda indices: collate([dataset[i] for i in indices])


def _iterable_fetch(
    dataset: Any, batch_size: int | None, drop_last: bool, collate: Any
) -> Callable[[Any], Any]:
    samples = iter(dataset)

    def fetch(_: Any) -> Any:
        if batch_size is None:
            return collate(next(samples))
        batch = list(islice(samples, batch_size))
        if not batch or (drop_last and len(batch) < batch_size):
            raise StopIteration
        return collate(batch)

    return fetch


class _Workers:
    """The processes of a loader. Each works on at most prefetch_factor batches at a time."""

    def __init__(self, loader: DataLoader, seed: int) -> None:
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        self._count = loader.num_workers
        self._ahead = loader.prefetch_factor or 2
        self._timeout = loader.timeout
        self._restarts_iterables = loader.iterable
        self._results = context.Queue()
        self._tasks = [context.Queue() for _ in range(self._count)]
        self._processes = [
            context.Process(
                target=work,
                args=(
                    i,
                    self._count,
                    loader.dataset,
                    loader._make_fetch(),
                    seed,
                    loader.worker_init_fn,
                    self._tasks[i],
                    self._results,
                ),
                daemon=True,
            )
            for i in range(self._count)
        ]
        for process in self._processes:
            process.start()

    @property
    def alive(self) -> bool:
        """Whether they can take another pass; an iterable dataset needs new ones."""
        return not self._restarts_iterables and all(p.is_alive() for p in self._processes)

    def batches(self, order: Iterator[Any], in_order: bool) -> Iterator[Any]:
        """The batches of a pass, in the order asked for."""
        active = list(range(self._count))
        owners: dict[int, int] = {}
        arrived: dict[int, Any] = {}
        sent = wanted = turn = 0
        exhausted = False
        while True:
            while not exhausted and active and len(owners) < self._ahead * len(active):
                try:
                    indices = next(order)
                except StopIteration:
                    exhausted = True
                    break
                worker = active[turn % len(active)]
                turn += 1
                self._tasks[worker].put((sent, indices))
                owners[sent] = worker
                sent += 1
            if in_order and wanted in arrived:
                answer = arrived.pop(wanted)
                wanted += 1
            elif arrived and not in_order:
                answer = arrived.popitem()[1]
            elif owners:
                number, worker, answer = self._receive()
                del owners[number]
                arrived[number] = answer
                if isinstance(answer, End) and worker in active:
                    active.remove(worker)
                continue
            else:
                return
            if isinstance(answer, Failure):
                answer.raise_again()
            if not isinstance(answer, End):
                yield answer

    def _receive(self) -> Any:
        waited = 0.0
        while True:
            try:
                return pickle.loads(self._results.get(timeout=1.0))
            except queue.Empty:
                waited += 1.0
            dead = [p for p in self._processes if not p.is_alive()]
            if dead:
                codes = ", ".join(f"{p.pid} (exit code {p.exitcode})" for p in dead)
                raise RuntimeError(f"DataLoader: worker processes ended unexpectedly: {codes}")
            if self._timeout and waited >= self._timeout:
                raise RuntimeError(f"DataLoader: no batch came within {self._timeout} seconds")

    def stop(self) -> None:
        """Ends the processes."""
        for tasks in self._tasks:
            tasks.put(None)
        for process in self._processes:
            process.join(timeout=5)
            if process.is_alive():
                process.terminate()
                process.join()
        for channel in (*self._tasks, self._results):
            channel.cancel_join_thread()
            channel.close()

    def __del__(self) -> None:
        for process in getattr(self, "_processes", []):
            if process.is_alive():
                process.terminate()
