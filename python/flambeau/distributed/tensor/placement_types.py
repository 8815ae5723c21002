"""How a tensor could lie on several processes: words that programs name it by."""

from __future__ import annotations

import dataclasses

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


@dataclasses.dataclass(frozen=True)
class Placement:
    """A part of every process, or all of it.

    Example:
        >>> from flambeau.distributed.tensor import Shard
        >>> Shard(0).is_shard(), Shard(0).is_replicate()
        (True, False)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is a `Shard`, of a dim if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether it is a `Replicate`."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether it is a `Partial`."""
        return isinstance(self, Partial)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part, along a dim.

    Example:
        >>> flambeau.distributed.tensor.Shard(1)
        Shard(dim=1)
    """

    dim: int


@dataclasses.dataclass(frozen=True)
class _StridedShard(Shard):
    split_factor: int = 1


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Each process has all of it.

    Example:
        >>> flambeau.distributed.tensor.Replicate()
        Replicate()
    """


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """Each process has what is still to be combined.

    Example:
        >>> flambeau.distributed.tensor.Partial()
        Partial(reduce_op='sum')
    """

    reduce_op: str = "sum"
