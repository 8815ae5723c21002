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


Map = Mapping[Any, Callable[..., Any]]


def collate(batch: Sequence[Any], *, collate_fn_map: Map | None = None) -> Any:
    """Joins a list of samples as `default_collate` does, each type by a function of yours.

    Args:
        batch: the samples.
        collate_fn_map: types, or tuples of types, and what joins a list of samples of them; it is
            called with `collate_fn_map`, too. Mappings and sequences need no function.

    Raises:
        TypeError: for samples of a type that has no function.

    Example:
        >>> from flambeau.utils.data._utils.collate import collate, default_collate_fn_map
        >>> def counted(batch, *, collate_fn_map=None):
        ...     return len(batch)
        >>> collate([{1}, {2}], collate_fn_map={**default_collate_fn_map, set: counted})
        2
    """
    functions = {} if collate_fn_map is None else collate_fn_map
    first = batch[0]
    kind = type(first)
    function = functions.get(kind) or next(
        (f for each, f in functions.items() if isinstance(first, each)), None
    )
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if _is_array(first):
        if first.dtype.kind in "SUO":
            raise TypeError(f"default_collate: arrays of dtype {first.dtype} cannot be joined")
        return _stacked([flambeau.as_tensor(sample) for sample in batch])
    if isinstance(first, Mapping):
        joined = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map)
            for key in first
        }
        return kind(joined) if kind is not dict else joined
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            lengths = sorted({len(sample) for sample in batch})
            raise RuntimeError(f"default_collate: samples have different lengths, {lengths}")
        columns = [
            collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)
        ]
        return kind(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(
        "default_collate: expected tensors, arrays, numbers, strings, mappings or sequences, got "
        f"{kind.__name__}; join them in a collate_fn of your own"
    )


def _tensors(batch: Sequence[Tensor], *, collate_fn_map: Map | None = None) -> Tensor:
    return _stacked(list(batch))


def _floats(batch: Sequence[float], *, collate_fn_map: Map | None = None) -> Tensor:
    return flambeau.tensor(list(batch), dtype=flambeau.float64)


def _integers(batch: Sequence[int], *, collate_fn_map: Map | None = None) -> Tensor:
    return flambeau.tensor(list(batch))


def _texts(batch: Sequence[Any], *, collate_fn_map: Map | None = None) -> Sequence[Any]:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: _tensors,
    float: _floats,
    int: _integers,
    str: _texts,
    bytes: _texts,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Joins a list of samples: tensors and arrays are stacked, numbers become a tensor, tuples,
    lists and mappings are joined element by element, strings stay as they are.

    Args:
        batch: the samples.

    Shapes: tensors (...) become one of (len(batch), ...).

    A type of your own is joined by what `default_collate_fn_map` has for it: a function of the list
    of samples and of `collate_fn_map`.

    Raises:
        TypeError: for samples of another type.
        RuntimeError: for samples whose lengths or shapes differ.

    Example:
        >>> from flambeau.utils.data import default_collate
        >>> default_collate([(flambeau.zeros(2), 0, "a"), (flambeau.ones(2), 1, "b")])
        [tensor([[0., 0.],
                [1., 1.]]), tensor([0, 1]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
