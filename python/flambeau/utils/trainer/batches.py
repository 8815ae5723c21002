"""Batches whose order and random numbers depend on the seed, the epoch and their number alone.

So an epoch can begin at any batch, with any number of workers, and gives what it would have given.
"""

from __future__ import annotations

from collections.abc import Generator as Iteration
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from itertools import count, islice
from typing import Any

import flambeau
from flambeau import Generator
from flambeau.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    get_worker_info,
)
from flambeau.utils.data.dataset import samples_of
from flambeau.utils.trainer.random_states import OwnRandomNumbers, derived_seed, seed_all

# Arguments of the DataLoader that order and exact resume depend on.
_OF_THE_TRAINER = frozenset(
    {"dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "drop_last", "generator"}
)


class Batches:
    """The batches of a dataset, epoch by epoch.

    Args:
        dataset: samples by index, or an IterableDataset.
        batch_size: samples per batch.
        seed: of the orders, and of random numbers that samples draw.
        shuffle: in a new random order in each epoch.
        drop_last: leave out a last batch that is shorter.
        sampler: gives the indices of an epoch instead.
        options: more arguments of the DataLoader.

    Raises:
        TypeError: for a DataLoader instead of a dataset.
        ValueError: for options that exclude each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        seed: int,
        *,
        shuffle: bool = False,
        drop_last: bool = False,
        sampler: Iterable[int] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(dataset, DataLoader):
            raise TypeError(
                "Trainer: give the dataset rather than a DataLoader; batch_size, sampler, "
                "num_workers and loader_options say how it is loaded"
            )
        options = dict(options or {})
        for name in _OF_THE_TRAINER & options.keys():
            raise ValueError(f"Trainer: loader_options must not have {name!r}: the trainer sets it")
        self._seed = seed
        self._generator = Generator()
        self._order: _Order | None = None
        if isinstance(dataset, IterableDataset):
            if sampler is not None:
                raise ValueError("Trainer: an IterableDataset gives its own order; no sampler")
            if options.get("persistent_workers"):
                raise ValueError(
                    "Trainer: workers of an IterableDataset start anew in each epoch; "
                    "persistent_workers does not apply"
                )
            options |= {"batch_size": batch_size, "drop_last": drop_last}
        else:
            is_own = sampler is None
            if sampler is None:
                own = RandomSampler(dataset, generator=Generator()) if shuffle else None
                sampler = own or SequentialSampler(dataset)
            self._order = _Order(BatchSampler(sampler, batch_size, drop_last), seed, is_own)
            options["batch_sampler"] = self._order
            dataset = _SeededSamples(dataset)
        self._dataset = dataset
        self._loader = DataLoader(dataset, generator=self._generator, **options)

    def __len__(self) -> int:
        """How many batches an epoch has; TypeError if the dataset does not know."""
        return len(self._loader)

    def epoch(self, number: int, start: int = 0) -> Iteration[Any, None, None]:
        """The batches of an epoch, from batch `start` on."""
        self._generator.manual_seed(derived_seed(self._seed, number, "workers"))
        if self._order is not None:
            self._order.epoch, self._order.start = number, start
            yield from self._loader
            return
        _tell_epoch(self._dataset, number)
        own = OwnRandomNumbers(derived_seed(self._seed, number, "samples"))
        end = object()
        with own:
            batches = iter(self._loader)
            for _ in islice(batches, start):
                pass
        while True:
            with own:
                batch = next(batches, end)
            if batch is end:
                return
            yield batch


class _Order(Sampler[list[int]]):
    """Lists of a seed and the indices of a batch.

    Args:
        batches: the indices.
        seed: of the order, and of the seeds.
        is_own: whether `batches` draws from nothing but its sampler's generator.
    """

    def __init__(self, batches: BatchSampler, seed: int, is_own: bool) -> None:
        self.batches = batches
        self.seed = seed
        self.is_own = is_own
        self.epoch = self.start = 0

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        sampler = self.batches.sampler
        seed = derived_seed(self.seed, self.epoch, "order")
        _tell_epoch(sampler, self.epoch)
        generator = getattr(sampler, "generator", None)
        if isinstance(generator, Generator):
            generator.manual_seed(seed)
        # A sampler of the user's may draw from any random numbers.
        kept_apart = nullcontext() if self.is_own else OwnRandomNumbers(seed)
        batches = iter(self.batches)
        for number in count():
            with kept_apart:
                indices = next(batches, None)
            if indices is None:
                return
            if number >= self.start:
                yield [derived_seed(self.seed, self.epoch, number), *indices]


def _tell_epoch(source: Any, epoch: int) -> None:
    tell = getattr(source, "set_epoch", None)
    if callable(tell):
        tell(epoch)


class _SeededSamples(Dataset[Any]):
    """Seeds the random numbers that samples draw, per batch."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        """What `worker_init_fn` looks for in the dataset of `get_worker_info`."""
        if name == "dataset":  # not there yet: this is being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitems__(self, numbered: list[int]) -> list[Any]:
        seed, *indices = numbered
        if get_worker_info() is not None:
            seed_all(seed)
            return self._fetch(indices)
        # Python's and NumPy's numbers go on: to keep them apart takes as long as a small batch.
        state = flambeau.get_rng_state()
        flambeau.manual_seed(seed)
        try:
            return self._fetch(indices)
        finally:
            flambeau.set_rng_state(state)

    def _fetch(self, indices: list[int]) -> list[Any]:
        samples: list[Any] = samples_of(self.dataset, indices)
        return samples
