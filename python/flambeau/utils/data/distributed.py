"""Sharing a dataset among processes that train together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import flambeau
from flambeau import Generator
from flambeau.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


def _group(name: str) -> Any:
    """`flambeau.distributed`, where processes have joined."""
    from flambeau import distributed

    if not distributed.is_initialized():
        raise ValueError(
            f"DistributedSampler: give {name}; there is no process group to ask for it"
        )
    return distributed


class DistributedSampler(Sampler[int]):
    """The part of the indices that one of several processes visits; all parts are equally long.

    Call `set_epoch` before each pass: the order depends on the seed and the epoch alone, so that
    the processes agree on it without talking.

    Args:
        dataset: has the same length in every process.
        num_replicas: how many processes there are; None: as many as the process group has.
        rank: which of them this is, from 0; None: its rank in the process group.
        shuffle: in a random order, else one after the other.
        seed: of the order, the same in every process.
        drop_last: leave out samples that do not divide evenly; else some come twice.

    Raises:
        ValueError: for a rank that is not below num_replicas, or if one of them is not given:
            there is no process group to ask.

    Example:
        >>> samplers = [DistributedSampler(range(5), 2, rank, shuffle=False) for rank in (0, 1)]
        >>> [list(sampler) for sampler in samplers]
        [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _group("num_replicas").get_world_size()
        if rank is None:
            rank = _group("rank").get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: rank must be within [0, {num_replicas - 1}], got {rank}"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = flambeau.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        # Position p is of rank p % num_replicas; positions past the end start again.
        places = range(self.rank, self.total_size, self.num_replicas)
        return iter([indices[place % count] for place in places])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the next pass."""
        self.epoch = epoch
