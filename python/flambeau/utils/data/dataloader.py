"""Going through a dataset in batches."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, TypeVar, cast

import flambeau
from flambeau import Generator
from flambeau.utils.data.collate import default_collate, default_convert
from flambeau.utils.data.dataset import Dataset, IterableDataset, samples_of
from flambeau.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    batch_count,
    new_seed,
)
from flambeau.utils.data.worker import get_worker_info as get_worker_info

T = TypeVar("T")


class DataLoader(Generic[T]):
    """Batches of a dataset, as an iterable; `DataLoader[T]` is one of a `Dataset[T]`.

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
        in_order: False: batches come as they are ready.
        pin_memory_device: accepted, as pin_memory.

    Raises:
        ValueError: for options that exclude each other.
        RuntimeError: while iterating, if a worker died or its time was out; what a worker raises is
            raised here.

    Example:
        >>> dataset = flambeau.utils.data.TensorDataset(flambeau.arange(5))
        >>> loader = flambeau.utils.data.DataLoader(dataset, batch_size=2)
        >>> [batch.tolist() for (batch,) in loader]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Dataset[T],
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
        cores = len(os.sched_getaffinity(0))
        if num_workers > cores:
            warnings.warn(
                f"DataLoader: {num_workers} processes load batches, and this one may use {cores} "
                "processors: more than that many slow each other down",
                stacklevel=2,
            )
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
        self.dataset = cast(Any, dataset)  # some have lengths, some are iterated over
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
            random = RandomSampler(self.dataset, generator=generator) if shuffle else None
            sampler = random or SequentialSampler(self.dataset)
        self.sampler = sampler
        if batch_size is not None and batch_sampler is None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self._collates = batch_sampler is not None or (self.iterable and batch_size is not None)
        if collate_fn is None:
            collate_fn = default_collate if self._collates else default_convert
        self.collate_fn = collate_fn
        self._workers: Any = None
        self._position: _Position | None = None
        self._resumed: _Position | None = None

    def __len__(self) -> int:
        """How many batches there are."""
        if self.iterable:
            samples = len(self.dataset)
            if self.batch_size is None:
                return samples
            return batch_count(samples, self.batch_size, self.drop_last)
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
        # The seed is drawn without workers too: the order of samples then does not depend on
        # num_workers.
        if self._resumed is None:
            position = _Position(self._random_state(), 0)
            seed, order = new_seed(self.generator), self._order()
        else:
            position, self._resumed = self._resumed, None
            now = self._random_state()
            self._set_random_state(position.random)
            seed, order = new_seed(self.generator), self._order()
            # The order is drawn with its first item; all else that is random goes on from here.
            order = chain(list(islice(order, 1)), order)
            if self.generator is None:
                self._set_random_state(now)
        self._position = position
        return self._counted(self._pass(order, seed, position.batches), position)

    def _counted(self, batches: Iterator[Any], position: _Position) -> Iterator[Any]:
        """A pass; `state_dict` tells how far it is."""
        for batch in batches:
            position.batches += 1
            yield batch
            del batch
        if self._position is position:
            self._position = None

    def _pass(self, order: Iterator[Any], seed: int, skip: int) -> Iterator[Any]:
        if self.num_workers == 0:
            return self._load_here(order, skip)
        return self._with_workers(order, seed, skip)

    def _load_here(self, order: Iterator[Any], skip: int) -> Iterator[Any]:
        fetch = self._make_fetch()(self.dataset)
        if not self.iterable:
            order = islice(order, skip, None)
            skip = 0
        for indices in order:
            try:
                batch = fetch(indices)
            except StopIteration:
                return
            if skip:
                skip -= 1
                continue
            yield batch
            del batch

    def _with_workers(self, order: Iterator[Any], seed: int, skip: int) -> Iterator[Any]:
        from flambeau.utils.data.workers import Workers

        workers = self._workers
        if workers is None or not workers.alive:
            workers = Workers(self, seed)
        if self.persistent_workers:
            self._workers = workers
        try:
            yield from workers.batches(order, seed, self.in_order, skip, self.iterable)
        except GeneratorExit:
            if not self.persistent_workers:
                workers.stop()
            raise
        except BaseException:
            workers.stop(at_once=True)
            raise
        if not self.persistent_workers:
            workers.stop()

    # Resuming --------------------------------------------------------------------------------

    def _random_state(self) -> Any:
        source = self.generator
        return flambeau.get_rng_state() if source is None else source.get_state()

    def _set_random_state(self, state: Any) -> None:
        if self.generator is None:
            flambeau.set_rng_state(state)
        else:
            self.generator.set_state(state)

    def state_dict(self) -> dict[str, Any]:
        """How far the pass is that runs: `load_state_dict` of a loader with the same arguments
        makes its next pass go on with the batch after.

        The same batches come in the same order, and what workers draw at random is drawn again, for
        each batch from a seed of its own (not with a worker_init_fn, which may seed as it likes).
        What an iterable dataset has given already is loaded again, and dropped.
        """
        position = self._position or self._resumed
        if position is None:
            return {"batches": None, "random": None}
        return {"batches": position.batches, "random": position.random}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Makes the next pass go on where another one was; see `state_dict`."""
        self._position = None
        batches = state_dict["batches"]
        self._resumed = None if batches is None else _Position(state_dict["random"], batches)


class _BaseDataLoaderIter:
    """What iterators of PyTorch's are, which libraries ask for; ours are generators."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Those with workers."""


class _Position:
    """How far a pass is: batches that were given, and the generator as it was before."""

    def __init__(self, random: Any, batches: int) -> None:
        self.random = random
        self.batches = batches


def _indexed_fetch(dataset: Dataset[Any], collates: bool, collate: Any) -> Callable[[Any], Any]:
    if not collates:
        return lambda index: collate(dataset[index])
    return lambda indices: collate(samples_of(dataset, indices))


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
