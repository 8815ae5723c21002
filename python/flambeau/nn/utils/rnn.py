"""Sequences of different lengths: padded, or packed without padding."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import flambeau
from flambeau import Tensor, _lazy
from flambeau._values import brief, elements

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences element by element: first the first elements of all, then the second ones, ...

    Attributes:
        data: (total number of elements, features).
        batch_sizes: how many sequences have a t-th element; int64, not increasing.
        sorted_indices: where the sequences, longest first, were; None: they were in that order.
        unsorted_indices: the inverse of sorted_indices.

    Example:
        >>> from flambeau.nn.utils.rnn import pack_sequence
        >>> packed = pack_sequence([flambeau.tensor([1., 2., 3.]), flambeau.tensor([4.])])
        >>> packed.data
        tensor([1., 4., 2., 3.])
        >>> packed.batch_sizes
        tensor([2, 1, 1])
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes is needed")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences with `data` moved or converted."""
        return PackedSequence(self.data.to(*args, **kwargs), *self[1:])

    def cpu(self) -> PackedSequence:
        """The same sequences on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> PackedSequence:
        """The same sequences on a CUDA device."""
        return self.to("cuda" if device is None else flambeau.device(device))

    @property
    def is_cuda(self) -> bool:
        """Whether they are on a CUDA device."""
        return self.data.is_cuda

    def double(self) -> PackedSequence:
        """The same sequences of float64."""
        return self.to(flambeau.float64)

    def float(self) -> PackedSequence:
        """The same sequences of float32."""
        return self.to(flambeau.float32)

    def half(self) -> PackedSequence:
        """The same sequences of float16."""
        return self.to(flambeau.float16)

    def long(self) -> PackedSequence:
        """The same sequences of int64."""
        return self.to(flambeau.int64)

    def int(self) -> PackedSequence:
        """The same sequences of int32."""
        return self.to(flambeau.int32)

    def short(self) -> PackedSequence:
        """The same sequences of int16."""
        return self.to(flambeau.int16)

    def char(self) -> PackedSequence:
        """The same sequences of int8."""
        return self.to(flambeau.int8)

    def byte(self) -> PackedSequence:
        """The same sequences of uint8."""
        return self.to(flambeau.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    Args:
        permutation: of int64; None gives None.

    Shapes: permutation (N), output alike.

    Example:
        >>> from flambeau.nn.utils.rnn import invert_permutation
        >>> invert_permutation(flambeau.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    result = [0] * permutation.numel()
    for i, target in enumerate(permutation.tolist()):
        result[target] = i
    return flambeau.tensor(result, dtype=flambeau.int64)


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Joins sequences into one tensor, filled up with padding_value.

    Args:
        sequences: tensors (L_i, ...).
        batch_first: the result is (N, longest, ...).
        padding_value: of what is filled up.
        padding_side: "right" or "left".

    Shapes: output (longest, N, ...).

    Example:
        >>> from flambeau.nn.utils.rnn import pad_sequence
        >>> pad_sequence([flambeau.tensor([1., 2.]), flambeau.tensor([3.])], batch_first=True)
        tensor([[1., 2.],
                [3., 0.]])
    """
    if padding_side not in ("right", "left"):
        raise ValueError(
            f"pad_sequence: padding_side must be 'right' or 'left', got {brief(padding_side)}"
        )
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        if missing:
            filler = sequence.new_full([missing, *sequence.shape[1:]], padding_value)
            parts = [sequence, filler] if padding_side == "right" else [filler, sequence]
            sequence = flambeau.cat(parts, 0)
        rows.append(sequence)
    return flambeau.stack(rows, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of pad_sequence (padded on the right) again.

    Args:
        padded_sequences: the padded ones.
        lengths: of each sequence.
        batch_first: padded_sequences is (N, longest, ...).

    Shapes: padded_sequences (longest, N, ...); output: tensors (L_i, ...).

    Example:
        >>> from flambeau.nn.utils.rnn import unpad_sequence
        >>> padded = flambeau.tensor([[1., 2.], [3., 0.]])
        >>> unpad_sequence(padded, flambeau.tensor([2, 1]), batch_first=True)
        [tensor([1., 2.]), tensor([3.])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [batch[i, :length] for i, length in enumerate(_numbers(lengths))]


def _numbers(lengths: Any) -> list[int]:
    values = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [int(v) for v in values]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (longest, N, ...) padded on the right.

    Args:
        input: the padded sequences.
        lengths: of each sequence, positive; on the CPU.
        batch_first: the input is (N, longest, ...).
        enforce_sorted: the longest sequence comes first already; False: sort them.

    Raises:
        RuntimeError: for lengths that do not fit, or not sorted where they should be.

    Example:
        >>> from flambeau.nn.utils.rnn import pack_padded_sequence
        >>> padded = flambeau.tensor([[1., 2.], [3., 0.]])
        >>> pack_padded_sequence(padded, [2, 1], batch_first=True).data
        tensor([1., 3., 2.])
    """
    batch = input if batch_first else input.transpose(0, 1)
    sizes = _numbers(lengths)
    if len(sizes) != batch.shape[0] or not sizes or min(sizes) <= 0 or max(sizes) > batch.shape[1]:
        raise RuntimeError(
            f"pack_padded_sequence: lengths {sizes} do not fit {batch.shape[0]} sequences of at "
            f"most {batch.shape[1]} elements; each must be positive"
        )
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    sorted_indices = None
    if enforce_sorted:
        if any(a < b for a, b in itertools.pairwise(sizes)):
            raise RuntimeError(
                f"pack_padded_sequence: lengths must not increase, got {sizes}; pass "
                "enforce_sorted=False to have them sorted"
            )
    else:
        sorted_indices = flambeau.tensor(order, dtype=flambeau.int64)
        batch = batch.index_select(0, sorted_indices)
        sizes = [sizes[i] for i in order]
    counts = [sum(size > t for size in sizes) for t in range(sizes[0])]
    data = flambeau.cat([batch[:count, t] for t, count in enumerate(counts)], 0)
    return PackedSequence(data, flambeau.tensor(counts, dtype=flambeau.int64), sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(padded sequences, lengths), in the order before packing.

    Args:
        sequence: the packed sequences.
        batch_first: (N, longest, ...) instead of (longest, N, ...).
        padding_value: of what is filled up.
        total_length: pad to it instead of the longest.

    Example:
        >>> from flambeau.nn.utils.rnn import pack_sequence, pad_packed_sequence
        >>> packed = pack_sequence([flambeau.tensor([1., 2.]), flambeau.tensor([3.])])
        >>> pad_packed_sequence(packed, batch_first=True)
        (tensor([[1., 2.],
                [3., 0.]]), tensor([2, 1]))
    """
    counts = _numbers(sequence.batch_sizes)
    longest = len(counts)
    if total_length is not None and total_length < longest:
        raise ValueError(
            f"pad_packed_sequence: total_length {total_length} is below the longest, {longest}"
        )
    full = longest if total_length is None else total_length
    steps = []
    for step in sequence.data.split(counts, 0):
        missing = counts[0] - step.shape[0]
        if missing:
            filler = step.new_full([missing, *step.shape[1:]], padding_value)
            step = flambeau.cat([step, filler], 0)
        steps.append(step)
    if full > longest:
        empty = steps[0].new_full(list(steps[0].shape), padding_value)
        steps += [empty] * (full - longest)
    padded = flambeau.stack(steps, 1)
    lengths = flambeau.tensor(
        [sum(count > i for count in counts) for i in range(counts[0])], dtype=flambeau.int64
    )
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return (padded if batch_first else padded.transpose(0, 1)), lengths


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (L_i, ...).

    Args:
        sequences: tensors that differ in their first size only.
        enforce_sorted: the longest comes first already; False: sort them.

    Example:
        >>> from flambeau.nn.utils.rnn import pack_sequence
        >>> packed = pack_sequence([flambeau.ones(1, 4), flambeau.ones(3, 4)], enforce_sorted=False)
        >>> output, h = flambeau.nn.GRU(4, 5)(packed)
        >>> output.data.shape, h.shape
        (flambeau.Size([4, 5]), flambeau.Size([1, 2, 5]))
    """
    listed = list(elements("rnn", sequences))
    lengths = [s.shape[0] for s in listed]
    padded = pad_sequence(listed, batch_first=True)
    return pack_padded_sequence(padded, lengths, True, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a PackedSequence.

    Args:
        packed_sequences: the packed ones.

    Example:
        >>> from flambeau.nn.utils.rnn import pack_sequence, unpack_sequence
        >>> unpack_sequence(pack_sequence([flambeau.tensor([1., 2.]), flambeau.tensor([3.])]))
        [tensor([1., 2.]), tensor([3.])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
