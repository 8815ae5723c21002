"""`x[key]` and `x[key] = value` of batches: the batch is one more index where index tensors differ
from slice to slice.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.func._batched import Level, batches


def get_item(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The slices' `x[key]`."""
    selection = _Selection(level, *args)
    if not selection.indices:
        return level.wrap(selection.view)
    return level.wrap(selection.placed(selection.view[selection.key]))


def set_item(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The slices' `x[key] = value`."""
    target, key, value = args
    if not level.has(target):
        raise RuntimeError(
            "vmap(): x[...] = value would write a batch into a tensor that has none: it is the "
            "same for all slices; make a batch of it first, by x + 0 * batch or new_zeros() of one"
        )
    selection = _Selection(level, target, key)
    if isinstance(value, Tensor):
        shape = selection.shape
        while value.dim() > len(shape) and value.shape[0] == 1:
            value = value[0]
        moved = level.unwrap(value)
        missing = len(shape) - value.dim()
        moved = moved.reshape([level.size, *[1] * missing, *value.shape])
        value = selection.gathered(moved.expand([level.size, *shape]))
    if selection.indices:
        selection.view[selection.key] = value
    else:
        selection.view.copy_(value) if isinstance(value, Tensor) else selection.view.fill_(value)


class _Selection:
    """A key applied to all slices: the view that its basic parts make, whose first dims after the
    batch are those that index tensors select from; and these tensors.
    """

    def __init__(self, level: Level, tensor: Tensor, key: Any) -> None:
        self._level = level
        self._has_batch = level.has(tensor)
        self._value = level.unwrap(tensor) if self._has_batch else tensor.unsqueeze(0)
        parts = list(key) if isinstance(key, tuple) else [key]
        parts = _with_tensors(parts, tensor)
        basic = [slice(None) if isinstance(p, Tensor) else p for p in parts]
        view = self._value[(slice(None), *basic)]
        # Where in the view each index tensor selects.
        self.indices = [p for p in parts if isinstance(p, Tensor)]
        self._dims = _dims_of(parts, view.dim())
        self._is_adjacent = self._dims == list(
            range(self._dims[0], self._dims[0] + len(self._dims)) if self._dims else ()
        )
        self.view = view.movedim(self._dims, list(range(1, len(self._dims) + 1)))
        self._before = self._dims[0] - 1 if self._dims and self._is_adjacent else 0
        self._prepare()

    def _prepare(self) -> None:
        """The key for the view: the slices, if there are any, and the index tensors."""
        level = self._level
        shapes = [tuple(i.shape) for i in self.indices]
        self._selected = list(flambeau.broadcast_shapes(*shapes)) if shapes else []
        rank = len(self._selected)
        if any(level.has(i) for i in self.indices) or not self._has_batch:
            moved = [_aligned(level, i, rank) if level.has(i) else i for i in self.indices]
            if self._has_batch:
                slices = flambeau.arange(level.size, device=self._value.device)
                first: Any = slices.reshape([level.size, *[1] * rank])
            else:
                first = flambeau.zeros([1] * (rank + 1), dtype=flambeau.int64)
        else:
            moved, first = self.indices, slice(None)
        self.key = (first, *moved)

    @property
    def shape(self) -> list[int]:
        """Of the selection from a slice."""
        rest = list(self.view.shape[1 + len(self.indices) :])
        return [*rest[: self._before], *self._selected, *rest[self._before :]]

    def placed(self, found: Tensor) -> Tensor:
        """What was selected: the dims of the index tensors go where the first of them stood."""
        return found.movedim(*self._moves())

    def gathered(self, value: Tensor) -> Tensor:
        """What is assigned: the other way."""
        source, destination = self._moves()
        return value.movedim(destination, source)

    def _moves(self) -> tuple[list[int], list[int]]:
        places = range(1, len(self._selected) + 1)
        return list(places), [p + self._before for p in places]


def _aligned(level: Level, index: Tensor, rank: int) -> Tensor:
    value = level.unwrap(index)
    return value.reshape([level.size, *[1] * (rank - index.dim()), *index.shape])


def _with_tensors(parts: list[Any], tensor: Tensor) -> list[Any]:
    """Lists and masks as tensors of places; what has no dims and no batch as an int."""
    found: list[Any] = []
    for part in parts:
        if not isinstance(part, int | slice | type(None) | type(...) | Tensor):
            part = flambeau.as_tensor(part)
        if not isinstance(part, Tensor):
            found.append(part)
        elif part.dtype in (flambeau.bool, flambeau.uint8):
            if batches(part):
                raise RuntimeError(
                    "vmap(): a mask that differs from slice to slice selects differently many "
                    "elements; use where()"
                )
            found.extend(part.nonzero().unbind(1))
        else:
            found.append(part.long())
    return found


def _dims_of(parts: list[Any], rank: int) -> list[int]:
    """In the view that basic parts make, which begins with the batch."""
    after = parts[parts.index(...) + 1 :] if any(p is ... for p in parts) else None
    before = parts if after is None else parts[: len(parts) - len(after) - 1]
    dims, dim = [], 1
    for part in before:
        if isinstance(part, Tensor):
            dims.append(dim)
        dim += not (isinstance(part, int) and not isinstance(part, bool))
    later, dim = [], rank - 1
    for part in reversed(after or []):
        if isinstance(part, Tensor):
            later.append(dim)
        dim -= not (isinstance(part, int) and not isinstance(part, bool))
    return [*dims, *reversed(later)]
