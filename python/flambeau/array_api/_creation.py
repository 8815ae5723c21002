"""Making arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief

Shape = int | Sequence[int]


def _sizes(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """An array of an object, as `flambeau.asarray` makes it."""
    return flambeau.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Numbers from `start` (or 0) up to `stop`, which is left out; none where it is behind."""
    first, last = (0, start) if stop is None else (start, stop)
    if step != 0 and (last - first) * step < 0:
        last = float(first) if isinstance(last, float) else first  # none, of the same dtype
    return flambeau.arange(first, last, step, dtype=dtype, device=device)


def empty(shape: Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array whose elements nobody has written."""
    return flambeau.empty(_sizes(shape), dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of zeros."""
    return flambeau.zeros(_sizes(shape), dtype=dtype, device=device)


def ones(shape: Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of ones."""
    return flambeau.ones(_sizes(shape), dtype=dtype, device=device)


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of one number."""
    return flambeau.full(_sizes(shape), fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on the diagonal `k` above the main one, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    made = flambeau.zeros(n_rows, columns, dtype=dtype, device=device)
    if -n_rows < k < columns:
        made.diagonal(k).fill_(1)
    return made


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """Equally spaced numbers; without `endpoint` the last one is a step before `stop`."""
    if endpoint:
        return flambeau.linspace(start, stop, num, dtype=dtype, device=device)
    return flambeau.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The array that an object exports; memory is shared unless `copy` is True, or the device
    another.

    Raises:
        ValueError: copy is False, and there must be one.
    """
    made = flambeau.from_dlpack(x)
    moved = made if device is None else made.to(device)
    if copy is False and moved is not made:
        raise ValueError(f"from_dlpack(): the array is on {made.device}, not on {device}")
    return moved.clone() if copy and moved is made else moved


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid: an array for each of the given ones, without copies.

    Raises:
        ValueError: `indexing` is neither "xy" nor "ij".
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"meshgrid(): argument 'indexing' is {brief(indexing)}, expected 'xy' or 'ij'"
        )
    # Each keeps its dtype: what is common is the shape. With "xy" the first two dims change places.
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    shape = tuple(arrays[i].numel() for i in order)
    made = []
    for place, i in enumerate(order):
        ones = [1] * len(arrays)
        ones[place] = -1
        made.append((i, arrays[i].reshape(ones).expand(shape)))
    return [grid for _, grid in sorted(made, key=lambda pair: pair[0])]


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements up to the diagonal `k` above the main one, zeros elsewhere."""
    return flambeau.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements from the diagonal `k` above the main one on, zeros elsewhere."""
    return flambeau.triu(x, k)
