"""Which scores of attention count, in blocks: `BlockMask`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief

__all__ = ["BlockMask", "noop_mask"]

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Sizes = tuple[int, int]

DEFAULT_SIZE = 128
_NAMES = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
_TRANSPOSED = ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that lets every score count.

    Args:
        batch, head, token_q, token_kv: indices.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_mask, noop_mask
        >>> create_mask(noop_mask, 1, 1, 2, 2).all()
        tensor(True)
    """
    return batch.new_ones((), dtype=flambeau.bool)


class BlockMask:
    """A mask [batch, heads, queries, keys] and which of its blocks are empty, partly and fully set.

    `create_block_mask` makes one of a function. In attention, scores of full blocks count, those of
    partial blocks where `mask_mod` says so, and no others.

    Args:
        seq_lengths: numbers of queries and of keys.
        kv_num_blocks: [batch, heads, rows of blocks], how many partial blocks each row has.
        kv_indices: [batch, heads, rows, columns], these blocks first.
        full_kv_num_blocks, full_kv_indices: the same of full blocks; None: there are none.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same of columns; None: they
            are found.
        BLOCK_SIZE: queries and keys of a block.
        mask_mod: says of indices (batch, head, query, key) whether a score counts.
        dq_write_order, dq_write_order_full, dq_kv_order, dq_kv_order_spt: accepted: orders of
            PyTorch's kernels for GPUs.

    Raises:
        ValueError: for numbers and indices that do not fit together.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256, device="cpu")
        >>> mask.shape, mask.sparsity()
        ((1, 1, 256, 256), 25.0)
        >>> mask.to_dense()
        tensor([[[[1, 0],
                  [1, 1]]]], dtype=flambeau.int32)
    """

    def __init__(
        self,
        seq_lengths: Sizes,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        q_num_blocks: Tensor | None = None,
        q_indices: Tensor | None = None,
        full_q_num_blocks: Tensor | None = None,
        full_q_indices: Tensor | None = None,
        BLOCK_SIZE: Sizes = (DEFAULT_SIZE, DEFAULT_SIZE),
        mask_mod: MaskMod = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Any = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        if kv_indices.dim() < 2 or kv_num_blocks.shape != kv_indices.shape[:-1]:
            raise ValueError(
                "BlockMask: kv_num_blocks must have the shape of kv_indices without its last dim, "
                f"got {tuple(kv_num_blocks.shape)} and {tuple(kv_indices.shape)}"
            )
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise ValueError("BlockMask: full_kv_num_blocks and full_kv_indices go together")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        if q_num_blocks is None or q_indices is None:
            q_num_blocks, q_indices = numbered(set_blocks(kv_num_blocks, kv_indices).mT)
        if full_kv_num_blocks is not None and full_q_num_blocks is None:
            full = set_blocks(full_kv_num_blocks, full_kv_indices)
            full_q_num_blocks, full_q_indices = numbered(full.mT)
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | Sizes = DEFAULT_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: Sizes | None = None,
        compute_q_blocks: bool = True,
        **orders: Any,
    ) -> BlockMask:
        """A mask of the blocks of each row; `seq_lengths` None: whole blocks.

        Arguments are those of the class.
        """
        sizes = both(BLOCK_SIZE)
        rows, columns = kv_indices.shape[-2:]
        lengths = seq_lengths or (rows * sizes[0], columns * sizes[1])
        return cls(
            lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            BLOCK_SIZE=sizes,
            mask_mod=mask_mod or noop_mask,
            **orders,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many scores there are."""
        return int(flambeau.Size(self.shape).numel())

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """What the class takes, in order; without `flatten` lengths and sizes are pairs."""
        tensors = tuple(getattr(self, name) for name in (*_NAMES, *_TRANSPOSED))
        lengths: tuple[Any, ...] = (self.seq_lengths,)
        sizes: tuple[Any, ...] = (self.BLOCK_SIZE,)
        if flatten:
            lengths, sizes = self.seq_lengths, self.BLOCK_SIZE
        orders = (None,) * 4  # of PyTorch's kernels
        return (*lengths, *tensors, *orders, *sizes, self.mask_mod)

    def full_blocks(self) -> Tensor:
        """Whether a block is full, [batch, heads, rows, columns]."""
        if self.full_kv_num_blocks is None:
            return flambeau.zeros_like(self.kv_indices, dtype=flambeau.bool)
        return set_blocks(self.full_kv_num_blocks, self.full_kv_indices)

    def partial_blocks(self) -> Tensor:
        """Whether a block is partly set."""
        return set_blocks(self.kv_num_blocks, self.kv_indices)

    def to_dense(self) -> Tensor:
        """1 for each block that is set, partly or fully; 0 for others. Of type int32."""
        return (self.full_blocks() | self.partial_blocks()).to(flambeau.int32)

    def sparsity(self) -> float:
        """The percentage of scores in blocks that are not set."""
        computed = int(self.to_dense().sum().item()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def keeps(self, mask: Tensor) -> Tensor:
        """Which scores count, where `mask` is what `mask_mod` says of all."""
        full, partial = self._spread(self.full_blocks()), self._spread(self.partial_blocks())
        return full | (partial & mask)

    def _spread(self, blocks: Tensor) -> Tensor:
        (rows, columns), (queries, keys) = self.BLOCK_SIZE, self.seq_lengths
        spread = blocks.repeat_interleave(rows, -2).repeat_interleave(columns, -1)
        return spread[..., :queries, :keys]

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks. Its `mask_mod` is an error until a
        program sets one, as its indices are others; `seq_lengths` are what they were.
        """
        keys = index if isinstance(index, tuple) else (index,)
        kept = [slice(k, k + 1 or None) if isinstance(k, int) else k for k in keys]
        picked: dict[str, Any] = {
            n: None if (t := getattr(self, n)) is None else t[tuple(kept)] for n in _NAMES
        }
        return BlockMask(
            self.seq_lengths,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=_no_mask_mod,
            **picked,
        )

    def to(self, device: Any) -> BlockMask:
        """The mask on another device; what `mask_mod` uses stays where it is."""
        moved: dict[str, Any] = {
            name: None if (tensor := getattr(self, name)) is None else tensor.to(device)
            for name in (*_NAMES, *_TRANSPOSED)
        }
        return BlockMask(
            self.seq_lengths, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, **moved
        )

    def to_string(self, grid_size: int | Sizes = 20, limit: int = 4) -> str:
        """A picture of the blocks of the first masks: full ones black, partial ones grey. Of more
        blocks than `grid_size` in a direction, every so many are shown; -1: all.
        """
        heights, widths = both(grid_size)
        marks = self.full_blocks().int() * 2 + self.partial_blocks().int()
        flat = marks.reshape(-1, *marks.shape[-2:])
        lines = []
        places = itertools.product(*map(range, marks.shape[:-2]))
        for place, mark in zip(places, flat[:limit], strict=False):
            lines.append(f"({', '.join(map(str, place))})")
            down, across = _step(mark.shape[0], heights), _step(mark.shape[1], widths)
            for row in mark[::down, ::across].tolist():
                lines.append("".join(" ░█"[min(value, 2)] * 2 for value in row).rstrip())
        if len(flat) > limit:
            lines.append(f"... {len(flat) - limit} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        picture = self.to_string()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%,\n{picture}\n)"


def _no_mask_mod(*indices: Tensor) -> Tensor:
    raise RuntimeError(
        "this BlockMask is a part of another one, whose mask_mod knows other indices: set mask_mod "
        "(and seq_lengths) before it is used"
    )


def _step(blocks: int, shown: int) -> int:
    return 1 if shown == -1 else -(-blocks // shown) or 1


def both(size: int | Sizes) -> Sizes:
    """A size of both directions, or of each."""
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    if len(sizes) != 2 or not all(isinstance(s, int) and (s > 0 or s == -1) for s in sizes):
        raise ValueError(f"expected one size above 0 or two, got {brief(size)}")
    return sizes


def set_blocks(numbers: Tensor, indices: Tensor | None) -> Tensor:
    """Whether each block is among the first `numbers` of its row of `indices`."""
    assert indices is not None
    columns = flambeau.arange(indices.shape[-1], device=indices.device)
    listed = (columns < numbers.unsqueeze(-1)).to(flambeau.int32)
    found = flambeau.zeros_like(indices, dtype=flambeau.int32)
    return found.scatter_add_(-1, indices.long(), listed) > 0


def numbered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are set, and the indices of all, those that are set first."""
    numbers = blocks.sum(-1, dtype=flambeau.int32)
    order = blocks.int().argsort(dim=-1, descending=True, stable=True)
    return numbers, order.to(flambeau.int32).contiguous()
