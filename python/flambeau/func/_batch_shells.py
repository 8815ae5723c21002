"""Whether an operator takes what one slice of a batch is.

With the batch as a dim more, a vector could pass for a matrix, and dim -2 be that of the batch.
"""

from __future__ import annotations

from typing import Any

from flambeau import Tensor
from flambeau._C import _overrides
from flambeau._torch_dispatch import modes_off
from flambeau._torch_function import DisableTorchFunction
from flambeau.func._batch_precision import for_shells, precision_for
from flambeau.func._batching_table import Overload

_SLICES_AS_THEY_ARE = ("broadcast", "loop")
_UNASKED = frozenset(("of_elements", "random"))  # entries that say so
_taken: set[Any] = set()  # operators, with numbers of dims and dims that they took


def ask_of_slice(
    func: Any,
    key: Any,
    overload: Overload,
    given: dict[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Calls a function, once for numbers of dims, with tensors that have the shape and dtype of a
    slice and no elements: it raises what it would raise of a slice.
    """
    entry = overload.entry
    if entry["rule"] in _SLICES_AS_THEY_ARE or not _UNASKED.isdisjoint(entry):
        return
    dims = tuple(_plain(given.get(name)) for name in entry.get("roles", ()))
    asked = (key, tuple(map(_rank, given.values())), dims)
    if asked in _taken:
        return
    with for_shells(precision_for(given)), DisableTorchFunction(), modes_off():
        func(*map(shell, args), **{name: shell(value) for name, value in kwargs.items()})
    _taken.add(asked)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


def _rank(value: Any) -> Any:
    """How many dims a slice has; of what is no tensor nothing."""
    if isinstance(value, Tensor):
        return value.dim()
    return tuple(map(_rank, value)) if isinstance(value, list | tuple) else None


def shell(value: Any) -> Any:
    """An argument with tensors of its shapes and dtypes that have no elements."""
    if isinstance(value, Tensor):
        return _overrides.shell(Tensor, value.shape, value.stride(), value.dtype)
    if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
        return type(value)(shell(item) for item in value)
    return value
