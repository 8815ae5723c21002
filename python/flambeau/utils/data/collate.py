"""Joining samples into batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

# In a worker: room for a batch, of a shape and a dtype, in memory that its receiver shares.
allocate: Callable[[Sequence[int], flambeau.dtype], Tensor | None] | None = None


def _stacked(tensors: list[Tensor]) -> Tensor:
    first = tensors[0]
    other = next((t for t in tensors if t.shape != first.shape), None)
    if other is not None:
        raise RuntimeError(
            f"default_collate: samples of shapes {tuple(first.shape)} and {tuple(other.shape)} "
            "cannot be stacked; make them one shape, or join them in a collate_fn of your own"
        )
    room = None
    if allocate is not None and first.is_cpu:
        shape, dtype = first.shape, first.dtype
        if all(t.shape == shape and t.dtype == dtype and not t.requires_grad for t in tensors):
            room = allocate((len(tensors), *shape), dtype)
    return flambeau.stack(tensors, 0) if room is None else flambeau.stack(tensors, 0, out=room)


def _is_array(value: Any) -> bool:
    """NumPy arrays and scalars, recognized without importing NumPy."""
    return type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "dtype")


def default_convert(data: Any) -> Any:
    """Arrays become tensors, inside mappings and sequences too; tuples become lists, other things
    stay.

    Args:
        data: a sample.

    Example:
        >>> import numpy
        >>> flambeau.utils.data.default_convert({"x": numpy.zeros(2), "name": "a"})
        {'x': tensor([0., 0.], dtype=flambeau.float64), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if _is_array(data):
        return data if data.dtype.kind in "SUO" else flambeau.as_tensor(data)
    return _mapped(data, default_convert)


def _mapped(data: Any, function: Any) -> Any:
    if isinstance(data, Mapping):
        converted = {key: function(value) for key, value in data.items()}
        if type(data) is dict:
            return converted
        return type(data)(converted)  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(function(value) for value in data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return [function(value) for value in data]  # of a tuple too, as in PyTorch
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Joins a list of samples: tensors and arrays are stacked, numbers become a tensor, tuples,
    lists and mappings are joined element by element, strings stay as they are.

    Args:
        batch: the samples.

    Shapes: tensors (...) become one of (len(batch), ...).

    Raises:
        TypeError: for samples of another type.
        RuntimeError: for samples whose lengths or shapes differ.

    Example:
        >>> from flambeau.utils.data import default_collate
        >>> default_collate([(flambeau.zeros(2), 0, "a"), (flambeau.ones(2), 1, "b")])
        [tensor([[0., 0.],
                [1., 1.]]), tensor([0, 1]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _stacked(list(batch))
    if _is_array(first):
        if first.dtype.kind in "SUO":
            raise TypeError(f"default_collate: arrays of dtype {first.dtype} cannot be joined")
        return _stacked([flambeau.as_tensor(sample) for sample in batch])
    if isinstance(first, bool | int):
        return flambeau.tensor(list(batch))
    if isinstance(first, float):
        return flambeau.tensor(list(batch), dtype=flambeau.float64)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        joined = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return type(first)(joined) if type(first) is not dict else joined  # type: ignore[call-arg]
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            lengths = sorted({len(sample) for sample in batch})
            raise RuntimeError(f"default_collate: samples have different lengths, {lengths}")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(
        "default_collate: expected tensors, arrays, numbers, strings, mappings or sequences, got "
        f"{type(first).__name__}"
    )
