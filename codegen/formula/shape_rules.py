"""The shape language in Python: the same functions as native/core/geometry/shape_rules.h and
formula_rules.h. A build, which has no NumPy, uses those of sizes, dtypes and numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

Shape = list[int]


def wrap(dim: int, rank: int) -> int:
    """A dimension counted from the front; a 0-d tensor accepts -1 and 0."""
    extent = max(rank, 1)
    if not -extent <= dim < extent:
        raise IndexError(f"dimension {dim} is outside [{-extent}, {extent})")
    return dim % extent


def reduced(shape: Sequence[int], dims: Sequence[int] | int | None, keepdim: bool) -> Shape:
    """Sizes after reducing some dims; None or an empty list means all of them."""
    if isinstance(dims, int):
        dims = [dims]
    rank = len(shape)
    chosen = {wrap(d, rank) for d in dims} if dims else set(range(rank))
    if keepdim:
        return [1 if i in chosen else size for i, size in enumerate(shape)]
    return [size for i, size in enumerate(shape) if i not in chosen]


def swapped(items: Sequence[int], a: int, b: int) -> Shape:
    """The list with two items exchanged."""
    result = list(items)
    if result:
        a, b = wrap(a, len(result)), wrap(b, len(result))
        result[a], result[b] = result[b], result[a]
    return result


def broadcast(a: Sequence[int], b: Sequence[int]) -> Shape:
    """The common shape of two shapes."""
    if not broadcastable(a, b):
        raise ValueError(f"shapes {list(a)} and {list(b)} cannot be broadcast")
    rank = max(len(a), len(b))
    left, right = [1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)
    return [y if x == 1 else x for x, y in zip(left, right, strict=True)]


def broadcastable(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes broadcast."""
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


def expandable(shape: Sequence[int], size: Sequence[int]) -> bool:
    """Whether broadcasting makes one shape the other."""
    return broadcastable(shape, size) and broadcast(shape, size) == list(size)


def broadcast_all(shapes: Sequence[Sequence[int]]) -> Shape:
    """The common shape of several shapes."""
    return reduce(broadcast, map(list, shapes), [])


def given_or(items: Sequence[int | None], otherwise: Sequence[int]) -> Shape:
    """`items`, and where they are None, the integers of `otherwise`."""
    return [o if i is None else i for i, o in zip(items, otherwise, strict=True)]


def permuted(items: Sequence[int], dims: Sequence[int]) -> Shape:
    """Items in the order of `dims`."""
    wrapped = [wrap(d, len(items)) for d in dims]
    if sorted(wrapped) != list(range(len(items))):
        raise ValueError(f"{list(dims)} is no permutation of {len(items)} dimensions")
    return [items[d] for d in wrapped]


def inserted(items: Sequence[int], position: int, value: int) -> Shape:
    """The list with a new item before `position`."""
    position = wrap(position, len(items) + 1)
    return [*items[:position], value, *items[position:]]


def without(items: Sequence[int], position: int) -> Shape:
    """The list without one item."""
    position = wrap(position, len(items))
    return [item for i, item in enumerate(items) if i != position]


def replaced(items: Sequence[int], position: int, value: int) -> Shape:
    """The list with one item replaced."""
    position = wrap(position, len(items))
    return [value if i == position else item for i, item in enumerate(items)]


def _each(parameter: Sequence[int], rank: int) -> list[int]:
    return list(parameter) * rank if len(parameter) == 1 else list(parameter)


def conv_out(
    spatial: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Shape:
    """Spatial sizes after a convolution."""
    rank = len(spatial)
    parameters = (_each(p, rank) for p in (kernel, stride, padding, dilation))
    return [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(spatial, *parameters, strict=True)
    ]


def conv_transpose_out(
    spatial: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
) -> Shape:
    """Spatial sizes after a transposed convolution."""
    rank = len(spatial)
    parameters = (_each(p, rank) for p in (kernel, stride, padding, output_padding, dilation))
    return [
        (size - 1) * s - 2 * p + d * (k - 1) + o + 1
        for size, k, s, p, o, d in zip(spatial, *parameters, strict=True)
    ]


def pool_out(
    spatial: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Shape:
    """Spatial sizes after pooling; an empty stride means the kernel's size."""
    rank = len(spatial)
    kernels, paddings, dilations = (_each(p, rank) for p in (kernel, padding, dilation))
    strides = _each(stride, rank) if stride else kernels
    sizes = []
    for size, k, s, p, d in zip(spatial, kernels, strides, paddings, dilations, strict=True):
        reach = size + 2 * p - d * (k - 1) - 1
        count = -(-reach // s) + 1 if ceil_mode else reach // s + 1
        # No window starts in the right padding.
        sizes.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    return sizes


def numel(shape: Sequence[int]) -> int:
    """Product of the sizes."""
    return math.prod(shape)


def concatenated_shape(shapes: Sequence[Sequence[int]], dim: int) -> Shape:
    """The shape of tensors joined along `dim`; empty 1-d tensors do not count."""
    counted = [list(s) for s in shapes if list(s) != [0]]
    if not counted:
        return [0]
    axis = wrap(dim, len(counted[0]))
    return replaced(counted[0], axis, sum(s[axis] for s in counted))


def inverted(dims: Sequence[int]) -> Shape:
    """The permutation that undoes `dims`."""
    wrapped = [wrap(d, len(dims)) for d in dims]
    return [wrapped.index(i) for i in range(len(dims))]


def other_dims(dims: Sequence[int], rank: int) -> Shape:
    """The dims of so many that are not listed."""
    listed = [wrap(d, rank) for d in dims]
    return [d for d in range(rank) if d not in listed]


def expanded_dims(shape: Sequence[int], size: Sequence[int]) -> Shape:
    """The dims of `shape` that broadcasting `size` to it made or stretched."""
    lead = len(shape) - len(size)
    return [i for i, s in enumerate(shape) if i < lead or (size[i - lead] == 1 and s != 1)]


def interleaved(a: Sequence[int], b: Sequence[int]) -> Shape:
    """a[0], b[0], a[1], b[1], ..."""
    return [item for pair in zip(a, b, strict=True) for item in pair]


def fits(operand: Any, dtype: str) -> bool:
    """Whether an element of a dtype can be a number; of tensors True."""
    kind, bits = _kind_and_bits(dtype)
    if _is_array(operand) or kind not in "iu":
        return True
    highest = (1 << (bits if kind == "u" else bits - 1)) - 1
    lowest = -highest if kind == "u" else -highest - 1  # counts from above, as in C
    is_finite = isinstance(operand, int) or math.isfinite(operand)
    return is_finite and lowest <= math.trunc(operand) <= highest


def can_hold(operand: Any, dtype: str) -> bool:
    """Whether an element of a dtype can be a number, or what a 0-d array holds."""
    if _is_array(operand):
        return operand.ndim > 0 or operand.dtype == dtype or fits(operand.item(), dtype)
    return fits(operand, dtype)


def is_negative_number(operand: Any) -> bool:
    """Whether an operand is a number below 0; of tensors False."""
    return not (_is_array(operand) or isinstance(operand, complex)) and bool(operand < 0)


def range_dtype(start: float, end: float, step: float) -> str:
    """int64 where all three are integers, else the default float."""
    return "int64" if all(isinstance(n, int) for n in (start, end, step)) else "float32"


def spacing_dtype(start: complex, end: complex) -> str:
    """The default complex dtype where a number is complex, else the default float."""
    return "complex64" if isinstance(start, complex) or isinstance(end, complex) else "float32"


def range_length(start: float, end: float, step: float, dtype: str) -> int:
    """How many numbers of a dtype lie from `start` to below `end`."""
    if _kind_and_bits(dtype) == ("i", 64):
        start, end, step = int(start), int(end), int(step)
    return max(math.ceil((end - start) / step), 0)


def strided_extent(size: Sequence[int], stride: Sequence[int]) -> int:
    """How many elements of storage a geometry reaches over."""
    if 0 in size:
        return 0
    return 1 + sum((s - 1) * t for s, t in zip(size, stride, strict=True))


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a geometry is row-major without gaps."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def is_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether images or volumes have their channels next to each other, and pixels around them."""
    rank = len(shape)
    if rank not in (4, 5) or strides[1] == 0 or 0 in shape:
        return False
    least = 0
    for dim in (1, *range(rank - 1, 1, -1), *([0] if shape[0] > 1 else [])):
        if strides[dim] < least:
            return False
        least = strides[dim] * shape[dim]
        if dim == 2 and least == strides[1]:
            return False
    return True


def reduction_of(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """`reduction`, or what its former spelling by two flags stands for."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def numbered_reduction(reduction: int) -> str:
    """The reduction that a number stands for."""
    return ("none", "mean", "sum")[reduction]


def copied_strides(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The strides where elements fill one block in some order of the dims, else row-major ones."""
    expected = 1
    for size, stride in sorted(zip(shape, strides, strict=True), key=lambda pair: pair[::-1]):
        if size == 1:
            continue
        if stride != expected:
            return [numel(shape[i + 1 :]) for i in range(len(shape))]
        expected *= size
    return list(strides)


def scale_of(scales: Sequence[float] | float | None, position: int) -> float | None:
    """The scale at a position, where there is one; a list of one holds for all."""
    if scales is None or isinstance(scales, int | float):
        return scales
    return scales[min(position, len(scales) - 1)]


def resized_shape(
    spatial: Sequence[int],
    size: Sequence[int] | int | None,
    scales: Sequence[float] | float | None,
) -> Shape:
    """`size`, or else the spatial sizes times `scales`, rounded down."""
    if size is not None:
        given = [size] if isinstance(size, int) else list(size)
        return given * len(spatial) if len(given) == 1 else given
    factors = [scale_of(scales, i) for i in range(len(spatial))]
    return [math.floor(n * (1 if f is None else f)) for n, f in zip(spatial, factors, strict=True)]


def near_size(
    pooled: Sequence[int],
    kernel: Sequence[int] | int,
    stride: Sequence[int] | int | None,
    padding: Sequence[int] | int,
    size: Sequence[int] | int | None,
) -> bool:
    """Whether a size is within a stride of what was pooled to `pooled`."""
    if size is None:
        return True
    wanted = [size] if isinstance(size, int) else list(size)
    rank = len(pooled)
    if len(wanted) not in (rank, rank + 2):
        return False
    lists = (kernel, kernel if stride is None else stride, padding)
    kernels, steps, around = ([v] * rank if isinstance(v, int) else list(v) for v in lists)
    usual = [
        (n - 1) * s + k - 2 * p for n, k, s, p in zip(pooled, kernels, steps, around, strict=True)
    ]
    triples = zip(wanted[-rank:], usual, steps, strict=True)
    return all(abs(w - u) < s for w, u, s in triples)


def resize_step(length: int, size: int, align_corners: bool, scale: float | None) -> float:
    """The distance between the sources of neighbours in a dim that is resized."""
    if align_corners:
        return (length - 1) / (size - 1) if size > 1 else 0.0
    return 1 / scale if scale is not None and scale > 0 else length / size


def placed(items: Sequence[int], positions: Sequence[int], values: Sequence[int]) -> list[int]:
    """The list with the items at some positions replaced."""
    result = list(items)
    for position, value in zip(positions, values, strict=True):
        result[position] = value
    return result


def fft_dims(rank: int, sizes: Sequence[int] | None, dims: Sequence[int] | None) -> list[int]:
    """The dims of a transform: those given, or the last ones, as many as there are sizes."""
    if dims is not None:
        return [wrap(dim, rank) for dim in dims]
    return list(range(rank - (rank if sizes is None else len(sizes)), rank))


def fft_sizes(shape: Sequence[int], sizes: Sequence[int] | None, dims: Sequence[int]) -> list[int]:
    """The lengths of a transform: those given, -1: that of the dim."""
    given = [-1] * len(dims) if sizes is None else sizes
    return [shape[dim] if size == -1 else size for size, dim in zip(given, dims, strict=True)]


def fft_order(strides: Sequence[int], dims: Sequence[int], keeps_last: bool) -> list[int]:
    """The dims that are not transformed, then those that are, large strides first."""
    last = list(dims[-1:]) if keeps_last else []
    by_stride = sorted(range(len(strides)), key=lambda d: -strides[d])
    others = [d for d in by_stride if d not in dims]
    return [*others, *(d for d in by_stride if d in dims and d not in last), *last]


def nested_strides(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """Strides without gaps of dims that are nested in an order."""
    result, step = list(shape), 1
    for d in reversed(order):
        result[d] = step
        step *= max(shape[d], 1)
    return result


def fft_scale(norm: str | None, n: int, forward: bool) -> float:
    """What a transform of n points is multiplied with."""
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") == forward else 1.0


def viewable(shape: Sequence[int], strides: Sequence[int], size: Sequence[int]) -> bool:
    """Whether a geometry can be seen as `size` (one -1 allowed) without a copy."""
    count, known = numel(shape), numel([1 if n == -1 else n for n in size])
    if count == 0 or known <= 0 or count % known:
        return True  # what is wrong with such a size is not for this function to say
    wanted = [count // known if n == -1 else n for n in size]
    for run in reversed(_even_runs(shape, strides)):
        seen = 1
        while seen != run:
            if not wanted or seen > run:
                return False
            seen *= wanted.pop()
    return True


def _even_runs(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """How many elements lie in each run of dims that are spaced as one; dims of 1 have no space."""
    runs: list[int] = []
    outer = None
    for length, stride in zip(shape, strides, strict=True):
        if length == 1:
            continue
        if outer == length * stride:
            runs[-1] *= length
        else:
            runs.append(length)
        outer = stride
    return runs


def stacked_shape(shapes: Sequence[Sequence[int]], dim: int) -> Shape:
    """The shape of tensors of one shape joined along a new dim."""
    if not shapes or any(list(shape) != list(shapes[0]) for shape in shapes):
        raise ValueError(f"expected tensors of one shape, got {[list(s) for s in shapes]}")
    return inserted(shapes[0], dim, len(shapes))


def joined_sizes(shapes: Sequence[Sequence[int]], dim: int) -> list[int]:
    """The sizes along `dim` of tensors that are joined; empty 1-d tensors do not count."""
    return [0 if list(s) == [0] else s[wrap(dim, len(s))] for s in shapes]


def repeated_shape(shape: Sequence[int], repeats: Sequence[int]) -> Shape:
    """Sizes multiplied by repeats; more repeats than sizes add dims in front."""
    if len(repeats) < len(shape) or any(n < 0 for n in repeats):
        raise ValueError(f"{list(repeats)} are no repeats of shape {list(shape)}")
    sizes = [1] * (len(repeats) - len(shape)) + list(shape)
    return [n * size for n, size in zip(repeats, sizes, strict=True)]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "wrap": wrap,
    "reduced": reduced,
    "swapped": swapped,
    "broadcast": broadcast,
    "broadcastable": broadcastable,
    "expandable": expandable,
    "broadcast_all": broadcast_all,
    "sum_of": sum,
    "given_or": given_or,
    "ranks": lambda shapes: [len(shape) for shape in shapes],
    "position": lambda items, value: list(items).index(value) if value in items else -1,
    "highest": lambda items: max(items, default=0),
    "is_one_dtype": lambda dtypes: len(set(dtypes)) <= 1,
    "choices": lambda n, r: math.comb(n, r) if 0 <= r <= n else 0,
    "permuted": permuted,
    "inserted": inserted,
    "without": without,
    "replaced": replaced,
    "conv_out": conv_out,
    "conv_transpose_out": conv_transpose_out,
    "pool_out": pool_out,
    "numel": numel,
    "len": len,
    "max": max,
    "min": min,
    "range": lambda count: list(range(count)),
    "concatenated_shape": concatenated_shape,
    "viewable": viewable,
    "stacked_shape": stacked_shape,
    "joined_sizes": joined_sizes,
    "repeated_shape": repeated_shape,
    "inverted": inverted,
    "other_dims": other_dims,
    "expanded_dims": expanded_dims,
    "interleaved": interleaved,
    "fits": fits,
    "can_hold": can_hold,
    "is_negative_number": is_negative_number,
    "range_dtype": range_dtype,
    "spacing_dtype": spacing_dtype,
    "range_length": range_length,
    "strided_extent": strided_extent,
    "is_channels_last": is_channels_last,
    "is_dense": is_dense,
    "reduction_of": reduction_of,
    "numbered_reduction": numbered_reduction,
    "copied_strides": copied_strides,
    "placed": placed,
    "fft_dims": fft_dims,
    "fft_sizes": fft_sizes,
    "fft_scale": fft_scale,
    "fft_order": fft_order,
    "nested_strides": nested_strides,
    "item": int,
    "is_differentiated": lambda x: bool(getattr(x, "requires_grad", False)),
    "all_positive": lambda items: all(item > 0 for item in items),
    "scale_of": scale_of,
    "resized_shape": resized_shape,
    "resize_step": resize_step,
    "near_size": near_size,
    "windows_fit": lambda spatial, kernel, parts: all(
        k > 0 and p > 0 and p + k - 1 <= n for n, k, p in zip(spatial, kernel, parts, strict=True)
    ),
    "taps_within": lambda reach: 2 * math.ceil(reach) + 1,
}


_KINDS = {"bool": "b", "int": "i", "uint": "u", "float": "f", "bfloat": "f", "complex": "c"}


def _kind_and_bits(dtype: Any) -> tuple[str, int]:
    """Of a name, or a dtype of NumPy: ("i", 64)."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or dtype.__name__
    family = name.rstrip("_0123456789")
    return _KINDS[family], int(name[len(family) :].strip("_") or 8)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _kind(value: Any) -> str:
    """What a dtype, a number or a tensor is: as in NumPy's kinds."""
    if isinstance(value, str) or _is_array(value):
        return _kind_and_bits(value if isinstance(value, str) else value.dtype)[0]
    return {bool: "b", int: "i", float: "f", complex: "c"}[type(value)]


DTYPE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "is_integral": lambda value: _kind(value) in "biu",
    "is_floating": lambda value: _kind(value) == "f",
    "is_complex": lambda value: _kind(value) == "c",
}
