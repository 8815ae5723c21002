"""What differs between two results, in one line."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from db_carry import array_of
from db_numbers import kinds, wrong_places
from parity_compare import TOLERANCES

import flambeau

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """`symptom` is the same for the same mistake; `expected` and `got` say what was seen."""

    symptom: str
    expected: str
    got: str


def difference(theirs: Any, mine: Any, loose: float = 1.0, form: bool = False) -> Difference | None:
    """The first difference of two results at any depth. `form`: of dtypes, shapes, structure."""
    if isinstance(theirs, torch.Tensor):
        return _of_tensors(theirs, mine, loose, form)
    if isinstance(theirs, dict):
        if not isinstance(mine, dict) or list(theirs) != list(mine):
            return Difference("structure: keys", _short(list(theirs)), _short(mine))
        return difference(list(theirs.values()), list(mine.values()), loose, form)
    if isinstance(theirs, list | tuple):
        if not isinstance(mine, list | tuple) or len(mine) != len(theirs):
            return Difference("structure", _short(theirs), _short(mine))
        for name, member in vars(type(theirs)).items():
            if isinstance(member, types.MemberDescriptorType) and not hasattr(mine, name):
                return Difference(f"structure: no field {name}", _short(theirs), _short(mine))
        for index, (other, one) in enumerate(zip(theirs, mine, strict=True)):
            found = difference(other, one, loose, form)
            if found is not None:
                return _placed(found, index) if type(theirs) is not list else found
        return None
    if isinstance(theirs, torch.dtype):
        other = str(theirs).removeprefix("torch.")
        name = mine.name if isinstance(mine, flambeau.dtype) else _short(mine)
        return None if name == other else Difference("value: a dtype", other, name)
    if isinstance(theirs, bool | int | float | complex | str | None):
        return _of_numbers(theirs, mine, form)
    return None


def _placed(found: Difference, index: int) -> Difference:
    """Says which of several results it is."""
    kind, colon, rest = found.symptom.partition(":")
    return replace(found, symptom=f"{kind} of [{index}]{colon}{rest}")


def _of_numbers(theirs: Any, mine: Any, form: bool) -> Difference | None:
    if type(theirs) is not type(mine):
        words = f"structure: {_kind_of(mine)} for {type(theirs).__name__}"
        return Difference(words, _short(theirs), _short(mine))
    if form or theirs == mine or (theirs != theirs and mine != mine):
        return None
    if isinstance(theirs, float | complex) and np.isclose(theirs, mine, 1e-4, 1e-5):
        return None
    return Difference(f"value: a {type(theirs).__name__}", _short(theirs), _short(mine))


def _of_tensors(theirs: Any, mine: Any, loose: float, form: bool) -> Difference | None:
    if not isinstance(mine, flambeau.Tensor | torch.Tensor):
        return Difference(f"structure: {_kind_of(mine)} for a tensor", _short(theirs), _short(mine))
    names = [str(tensor.dtype).partition(".")[2] for tensor in (theirs, mine)]
    if names[0] != names[1]:
        return Difference(f"dtype: {names[1]} for {names[0]}", *names)
    layouts = [str(tensor.layout).partition(".")[2] for tensor in (theirs, mine)]
    if layouts[0] != layouts[1]:
        return Difference(f"structure: {layouts[1]} for {layouts[0]}", *layouts)
    shapes = [tuple(tensor.shape) for tensor in (theirs, mine)]
    if shapes[0] != shapes[1]:
        return Difference("shape", *map(str, shapes))
    if form:
        return None
    expected, got = array_of(theirs), array_of(mine)
    wrong = wrong_places(expected, got, TOLERANCES.get(names[0], 0.0) * loose)
    if wrong is None:
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f" at {list(where)}" if where else ""
    return Difference(
        f"value: {kinds(expected[wrong], got[wrong])}",
        f"{expected[where].item()!r:.40}{place} ({int(wrong.sum())} of {wrong.size})",
        f"{got[where].item()!r:.40}",
    )


def strides(theirs: Any, mine: Any) -> Difference | None:
    """The first result that lies in memory in another order."""
    for other, one in zip(tensors(theirs), tensors(mine), strict=False):
        if other.layout is not torch.strided:
            continue
        steps = [
            [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
            for tensor in (other, one)
        ]
        if other.numel() and steps[0] != steps[1]:
            return Difference("strides", *(str(tuple(t.stride())) for t in (other, one)))
    return None


def tensors(value: Any) -> Iterator[Any]:
    """All tensors of a value."""
    if isinstance(value, torch.Tensor | flambeau.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def copied(value: Any) -> Any:
    """A value whose tensors nobody writes to."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return value


# Words -------------------------------------------------------------------------------------------


def _kind_of(value: Any) -> str:
    if isinstance(value, torch.Tensor | flambeau.Tensor):
        return "a tensor"
    return type(value).__name__


def _short(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def shown(value: Any) -> str:
    """An argument in a few words: tensors by dtype and shape, the smallest by their elements."""
    match value:
        case torch.Tensor() | flambeau.Tensor():
            return _shown_tensor(value)
        case torch.dtype() | torch.device() | torch.layout() | torch.memory_format():
            return str(value).removeprefix("torch.")
        case dict():
            return f"{{{', '.join(f'{k!r}: {shown(v)}' for k, v in value.items())}}}"
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case tuple():
            return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
        case None | bool() | int() | float() | complex() | str() | slice():
            return repr(value)
        case np.ndarray():
            return f"array{value.shape}"
    return getattr(value, "__name__", type(value).__name__)


def _shown_tensor(value: Any) -> str:
    name = str(value.dtype).partition(".")[2]
    if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
        return f"{name}{tuple(value.shape)} {value.layout}"
    if 0 < value.numel() <= 2 and value.dim() < 4 and value.device.type == "cpu":
        return f"{name}({array_of(value).tolist()})"
    plain = "" if value.is_contiguous() else f" strides {tuple(value.stride())}"
    return f"{name}{tuple(value.shape)}{plain}"
