"""Functions over tensors that are compositions of operators: grids, stacks, products."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau._values import brief, elements

_MOST_NUMBERS = 2**28  # that a list of choices is made of
_NUMBERS_AT_ONCE = 2**20


def _listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """The tensors of `f(a, b)` and of `f([a, b])` alike."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        return list(elements("tensors", tensors[0]))
    return list(tensors)


def _wrapped(name: str, dim: int, rank: int) -> int:
    """A dim counted from the front.

    Raises:
        IndexError: if the tensor has no such dim.
    """
    if not -rank <= dim < rank:
        expected = f"expected {-rank} to {rank - 1}" if rank else "it has none"
        raise IndexError(
            f"{name}(): dim {dim} is out of range for a tensor of {rank} dimensions; {expected}"
        )
    return dim % rank


def _slices(name: str, input: Tensor, dim: int) -> Tensor:
    """The slices along a dim, as the rows of a matrix.

    Raises:
        RuntimeError: if there are slices, but none has an element.
    """
    size = input.shape[dim]
    if size and not input.numel():
        raise RuntimeError(
            f"{name}(): the slices along dim {dim} of shape {list(input.shape)} hold no elements"
        )
    return input.movedim(dim, 0).reshape(size, input.numel() // size if size else 0)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: if two sizes of a dimension differ and neither is 1.
    """
    lists = [[s] if isinstance(s, int) else list(elements("broadcast_shapes", s)) for s in shapes]
    rank = max(map(len, lists), default=0)
    result = [1] * rank
    for sizes in lists:
        for i, size in enumerate(sizes, start=rank - len(sizes)):
            if size == 1 or size == result[i]:
                continue
            if result[i] != 1:
                shown = ", ".join(str(tuple(s)) for s in lists)
                raise RuntimeError(f"broadcast_shapes: {shown} do not broadcast in dimension {i}")
            result[i] = size
    return Size(result)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of the tensors, all of the shape that they broadcast to."""
    listed = _listed(tensors)
    shape = broadcast_shapes(*(t.shape for t in listed))
    return tuple(t.expand(shape) for t in listed)


def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: one view per input, of shape (n1, n2, ...).

    Args:
        tensors: vectors (or scalars) of coordinates along each axis, of one dtype.
        indexing: "ij" (default): dimensions in the order of the inputs; "xy": the first two
            swapped.

    Raises:
        RuntimeError: for inputs of more than one dimension or mixed dtypes.
        ValueError: for another `indexing`.
    """
    axes = _listed(tensors)
    if not axes:
        raise RuntimeError("meshgrid: expected at least one tensor")
    if indexing not in (None, "ij", "xy"):
        raise ValueError(f"meshgrid: indexing must be 'ij' or 'xy', got {brief(indexing)}")
    for axis in axes:
        if axis.dim() > 1:
            raise RuntimeError(f"meshgrid: expected vectors, got shape {tuple(axis.shape)}")
        if axis.dtype != axes[0].dtype:
            raise RuntimeError(
                f"meshgrid: expected one dtype, got {axes[0].dtype} and {axis.dtype}"
            )
    swap = indexing == "xy" and len(axes) > 1
    if swap:
        axes[0], axes[1] = axes[1], axes[0]
    shape = [axis.numel() for axis in axes]
    grids = []
    for i, axis in enumerate(axes):
        aligned = [1] * len(axes)
        aligned[i] = shape[i]
        grids.append(axis.reshape(aligned).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _each(tensors: tuple[Any, ...], convert: Callable[[Tensor], Tensor]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return convert(tensors[0])
    return tuple(convert(t) for t in _listed(tensors))


def atleast_1d(*tensors: Tensor) -> Any:
    """Scalars become vectors; others stay. One tensor gives a tensor, several a tuple."""
    return _each(tensors, lambda t: t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(*tensors: Tensor) -> Any:
    """Scalars and vectors become (1, n); others stay."""
    return _each(tensors, lambda t: t.reshape(1, -1) if t.dim() < 2 else t)


def _three(tensor: Tensor) -> Tensor:
    if tensor.dim() < 2:
        return tensor.reshape(1, -1, 1)
    return tensor.unsqueeze(-1) if tensor.dim() == 2 else tensor


def atleast_3d(*tensors: Tensor) -> Any:
    """Scalars and vectors become (1, n, 1), matrices (n, m, 1); others stay."""
    return _each(tensors, _three)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along the second dimension (vectors: the first)."""
    parts = [atleast_1d(t) for t in tensors]
    return flambeau.cat(parts, 0 if parts[0].dim() == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along the first dimension; vectors are rows."""
    return flambeau.cat([atleast_2d(t) for t in tensors], 0)


row_stack = vstack


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along the third dimension."""
    return flambeau.cat([atleast_3d(t) for t in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joins along the second dimension; vectors are columns."""
    return flambeau.cat([t.reshape(-1, 1) if t.dim() < 2 else t for t in tensors], 1)


def _split_along(name: str, input: Tensor, sections: int | Sequence[int], dim: int) -> Any:
    if input.dim() <= dim and not (name == "hsplit" and input.dim() == 1):
        raise RuntimeError(f"{name}: expected at least {dim + 1} dimensions, got {input.dim()}")
    dim = min(dim, input.dim() - 1)
    if isinstance(sections, int):
        if sections <= 0 or input.shape[dim] % sections:
            raise RuntimeError(
                f"{name}: dimension {dim} of size {input.shape[dim]} does not divide into "
                f"{sections}"
            )
        return tuple(input.split(input.shape[dim] // sections, dim))
    size = input.shape[dim]
    bounds = [0, *(min(s + size if s < 0 else s, size) for s in elements(name, sections)), size]
    return tuple(
        input.narrow(dim, begin, max(end - begin, 0)) for begin, end in itertools.pairwise(bounds)
    )


def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> Any:
    """Splits along the second dimension (vectors: the first): equal parts, or at indices."""
    return _split_along("hsplit", input, indices_or_sections, 1)


def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> Any:
    """Splits along the first dimension."""
    if input.dim() < 2:
        raise RuntimeError(f"vsplit: expected at least 2 dimensions, got {input.dim()}")
    return _split_along("vsplit", input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> Any:
    """Splits along the third dimension."""
    return _split_along("dsplit", input, indices_or_sections, 2)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices (vectors are rows, scalars 1x1) along its diagonal."""
    blocks = [atleast_2d(t) for t in _listed(tensors)]
    if not blocks:
        return flambeau.empty([1, 0])
    for block in blocks:
        if block.dim() > 2:
            raise ValueError(f"block_diag: expected at most 2 dimensions, got {block.dim()}")
    width = sum(b.shape[1] for b in blocks)
    rows, column = [], 0
    for block in blocks:
        height, own = block.shape
        before = block.new_zeros([height, column])
        column += own
        after = block.new_zeros([height, width - column])
        rows.append(flambeau.cat([before, block, after], 1))
    return flambeau.cat(rows, 0)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of one element per vector: (product of sizes, number of vectors); of a single
    vector: the vector itself."""
    axes = _listed(tensors)
    for axis in axes:
        if axis.dim() != 1:
            raise RuntimeError(f"cartesian_prod: expected vectors, got shape {tuple(axis.shape)}")
    if len(axes) == 1:
        return axes[0]
    return flambeau.stack([grid.reshape(-1) for grid in meshgrid(*axes)], dim=1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of `r` elements of a vector, in order: (number of choices, r)."""
    if input.dim() != 1:
        raise RuntimeError(f"combinations: expected a vector, got shape {tuple(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, got {r}")
    if r == 0:
        return input.new_empty([0])
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    n = input.numel()
    count = _choices(n + r - 1 if with_replacement else n, r)
    if count * r > _MOST_NUMBERS:
        raise RuntimeError(f"combinations(): there are too many choices of {r} of {n} elements")
    if not count:
        return input.new_empty([0, r])
    numbers = itertools.chain.from_iterable(choose(range(n), r))
    indices = flambeau.empty(count * r, dtype=flambeau.int64)
    # Some at a time: Python looks for an interruption between two parts.
    for part in indices.split(_NUMBERS_AT_ONCE):
        some = array("q", itertools.islice(numbers, part.numel()))
        part.copy_(flambeau.frombuffer(some, dtype=flambeau.int64))
    return input[indices.view(count, r)]


def _choices(n: int, r: int) -> int:
    """How many choices of r of n there are; of very many, some more than _MOST_NUMBERS."""
    if r > n:
        return 0
    count = 1
    for i in range(1, min(r, n - r) + 1):
        count = count * (n - i + 1) // i
        if count > _MOST_NUMBERS:
            break
    return count


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums products over pairs of dimensions.

    Args:
        a, b: tensors of one dtype.
        dims: an int n: the last n dimensions of `a` with the first n of `b`; or two lists of
            dimensions, of `a` and of `b`.

    Returns:
        The remaining dimensions of `a`, then those of `b`.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: dims must not be negative, got {dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: dims={dims} exceeds the {a.dim()} and {b.dim()} at hand"
            )
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(elements("tensordot", d)) for d in dims)
        left = [_wrapped("tensordot", d, a.dim()) for d in left]
        right = [_wrapped("tensordot", d, b.dim()) for d in right]
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        raise RuntimeError(
            f"tensordot: sizes of the summed dimensions differ: {[a.shape[d] for d in left]} of a, "
            f"{[b.shape[d] for d in right]} of b"
        )
    kept_a = [d for d in range(a.dim()) if d not in left]
    kept_b = [d for d in range(b.dim()) if d not in right]
    summed = math.prod(a.shape[d] for d in left)
    rows, columns = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
    matrix_a = a.permute(kept_a + left).reshape(math.prod(rows), summed)
    matrix_b = b.permute(right + kept_b).reshape(summed, math.prod(columns))
    return flambeau.mm(matrix_a, matrix_b).reshape(rows + columns)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements; with `dim`: the distinct slices along it, in lexicographic order.

    Args:
        input: any tensor.
        sorted: whether elements come in ascending order (slices always do).
        return_inverse: also where each input element went.
        return_counts: also how often each occurs.
        dim: None: over all elements.

    Returns:
        values, or a tuple of values and what else was asked for.

    Raises:
        IndexError: if there is no dim `dim`.
    """
    if dim is None:
        found = flambeau._C._internal.unique_elements(input, sorted)
        return _chosen(*found, return_inverse, return_counts)
    dim = _wrapped("unique", dim, input.dim())
    content = _slices("unique", input, dim).tolist()
    order = list(range(len(content)))
    # NaN has no place among numbers, and would leave them in disorder: it comes last.
    order.sort(key=lambda i: [(x != x, 0 if x != x else x) for x in content[i]])
    first: list[int] = []
    inverse, counts = [0] * len(order), []
    for i in order:
        if not first or content[first[-1]] != content[i]:
            first.append(i)
            counts.append(0)
        inverse[i] = len(first) - 1
        counts[-1] += 1
    return _chosen(
        input.index_select(dim, flambeau.tensor(first, dtype=flambeau.int64)),
        flambeau.tensor(inverse, dtype=flambeau.int64),
        flambeau.tensor(counts, dtype=flambeau.int64),
        return_inverse,
        return_counts,
    )


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0, in row-major order, as int64.

    Returns:
        a tensor with one row per position, [found, dims]; with `as_tuple`, one vector [found] per
        dimension, as indexing takes them (of a 0-d tensor: as of one with one element).
    """
    if not as_tuple:
        return flambeau.argwhere(input)
    return flambeau.argwhere(input if input.ndim else input.reshape(1)).unbind(1)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Drops elements (slices along `dim`) equal to the one before them.

    Returns:
        values, or a tuple of values and what else was asked for, as `unique` does.

    Raises:
        IndexError: if there is no dim `dim`.
    """
    if dim is None:
        found = flambeau._C._internal.unique_runs(input)
        return _chosen(*found, return_inverse, return_counts)
    dim = _wrapped("unique_consecutive", dim, input.dim())
    rows = _slices("unique_consecutive", input, dim)
    starts = flambeau.ones([rows.shape[0]], dtype=flambeau.bool)
    if rows.shape[0] > 1:
        starts[1:] = (rows[1:] != rows[:-1]).any(1)
    positions = flambeau.argwhere(starts).reshape(-1)
    inverse = starts.to(flambeau.int64).cumsum(0) - 1
    bounds = [*positions.tolist(), rows.shape[0]]
    counts = [end - begin for begin, end in itertools.pairwise(bounds)]
    return _chosen(
        input.index_select(dim, positions),
        inverse,
        flambeau.tensor(counts, dtype=flambeau.int64),
        return_inverse,
        return_counts,
    )


def _chosen(
    values: Tensor, inverse: Tensor, counts: Tensor, return_inverse: bool, return_counts: bool
) -> Any:
    result = [values]
    if return_inverse:
        result.append(inverse)
    if return_counts:
        result.append(counts)
    return tuple(result) if len(result) > 1 else values
