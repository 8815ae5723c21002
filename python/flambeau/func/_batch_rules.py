"""How declared operators are computed for a batch: rules that follow from what an entry says."""

from __future__ import annotations

import ast
import sys
import types
import warnings
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._C import _overrides
from flambeau.func._batched import Level
from flambeau.func._batching_table import (
    Overload,
    functions_named,
    is_operator,
    overloads_of,
)
from flambeau.func._formulas import Evaluator

Given = dict[str, Any]  # arguments by name, in order


def call(func: Any, given: Given, by_position: bool) -> Any:
    """A function on arguments that were bound."""
    if by_position:
        return func(*given.values())
    if not isinstance(func, types.MethodDescriptorType):
        return func(**given)
    receiver = "self" if "self" in given else next(iter(given))
    return func(given[receiver], **{n: v for n, v in given.items() if n != receiver})


def wrapped(level: Level, result: Any) -> Any:
    """Results whose first dim is the batch, as batches."""
    if isinstance(result, Tensor):
        return level.wrap(result)
    if isinstance(result, tuple | list):
        return type(result)(wrapped(level, item) for item in result)
    return result


def unwrapped(level: Level, value: Any) -> Any:
    """The slices of every tensor in an argument, along the first dim."""
    if isinstance(value, Tensor):
        return level.unwrap(value)
    if isinstance(value, tuple | list) and any(isinstance(x, Tensor) for x in value):
        return [unwrapped(level, item) for item in value]
    return value


# Which case ---------------------------------------------------------------------------------------


def case_of(level: Level, overload: Overload, given: Given) -> tuple[str, str | None, Given]:
    """The rule, its formula where it is one, and the arguments with the slices of batches: of those
    that are batches in a case of theirs, otherwise of every tensor.
    """
    rule: str = overload.entry["rule"]
    if rule in ("body", "loop", "broadcast"):  # which look for themselves
        return rule, None, given
    text = None
    names: Collection[str] = given
    if rule == "formula":
        batched = frozenset(n for n, v in given.items() if _is_batched(level, v))
        case = overload.cases.get(batched)
        if case is not None:
            names = batched
        rule, *formula = case or overload.cases[frozenset()]
        text = formula[0] if formula else None
    return rule, text, {n: unwrapped(level, v) if n in names else v for n, v in given.items()}


def _is_batched(level: Level, value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(level.has(item) for item in value)
    return level.has(value)


# The batch before, or in, the first dim -----------------------------------------------------------


def leading(
    level: Level, func: Any, overload: Overload, given: Given, moved: Given, by_position: bool
) -> Any:
    """The batch is a dim before those of all tensors; dims count from behind it, sizes begin with
    it. `moved`: the arguments with the slices of batches.
    """
    roles = overload.entry.get("roles", {})
    first = next(v for v in given.values() if isinstance(v, Tensor | tuple | list))
    ranked = first if isinstance(first, Tensor) else first[0]
    rank = ranked.dim()
    # A 0-d tensor has dim 0, which there is none of; dims of gradients are those of a size.
    if "dim" in roles.values() and "size" not in roles.values():
        single = [n for n, v in given.items() if isinstance(v, Tensor) and v.dim() == 0]
        moved |= {name: moved[name].unsqueeze(1) for name in single}
    else:
        single = []
    for name, role in roles.items():
        value = given.get(name, _literal(overload.entry["defaults"][name] or "None"))
        if role == "size" and isinstance(value, Sequence):
            moved[name] = [level.size, *value]
        elif role != "size" and (value is not None or overload.entry.get("all_dims")):
            moved[name] = _moved_dims(value, max(rank, 1))
            by_position = by_position and name in given
    result = call(func, moved, by_position)
    if single and not overload.entry.get("written"):
        result = _without_dim(result, 1)
    return wrapped(level, result)


def _moved_dims(dims: Any, rank: int) -> Any:
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(1, rank + 1))
    if isinstance(dims, int):
        return dims + 1 if dims >= 0 else dims
    return [d + 1 if d >= 0 else d for d in dims]


def joined(
    level: Level, func: Any, overload: Overload, given: Given, moved: Given, by_position: bool
) -> Any:
    """The batch and the first dim of all tensors, and of sizes, are one."""
    count = level.size
    moved = {n: v if v is given[n] else _together(v) for n, v in moved.items()}
    for name, role in overload.entry.get("roles", {}).items():
        value = given.get(name)
        if role == "size" and isinstance(value, Sequence):
            moved[name] = [count * value[0], *value[1:]]
    return wrapped(level, _apart(call(func, moved, by_position), count))


def _together(value: Any) -> Any:
    if isinstance(value, list):
        return [_together(item) for item in value]
    return value.flatten(0, 1) if isinstance(value, Tensor) else value


def _apart(value: Any, count: int) -> Any:
    if isinstance(value, Tensor):
        return value.reshape([count, value.shape[0] // count, *value.shape[1:]])
    return type(value)(_apart(item, count) for item in value)


def _without_dim(result: Any, dim: int) -> Any:
    if isinstance(result, Tensor):
        return result.squeeze(dim) if result.dim() > dim else result
    return type(result)(_without_dim(item, dim) for item in result)


# Broadcasting -------------------------------------------------------------------------------------


def broadcast(level: Level, func: Any, overload: Overload, given: Given, by_position: bool) -> Any:
    """The batch is a dim before those that are broadcast."""
    tensors = [v for v in given.values() if isinstance(v, Tensor)]
    rank = max(t.dim() for t in tensors)
    kind = _common_dtype(tensors) if len(tensors) > 1 else None
    moved = {
        name: _aligned(level, v, rank, kind) if isinstance(v, Tensor) else v
        for name, v in given.items()
    }
    return wrapped(level, call(func, moved, by_position))


def _aligned(level: Level, tensor: Tensor, rank: int, kind: Any) -> Tensor:
    if not level.has(tensor):
        return tensor
    value = level.unwrap(tensor)
    missing = rank - tensor.dim()
    # bool decides no dtype, and conditions must stay what they are.
    changes = value.dtype not in (kind, flambeau.bool)
    if missing and kind is not None and tensor.dim() == 0 and changes:
        value = value.to(kind)
    return value.reshape([level.size, *[1] * missing, *value.shape[1:]]) if missing else value


def _common_dtype(tensors: list[Tensor]) -> Any:
    """What tensors with dims decide, where those without have another dtype of no higher kind:
    as slices they would not take part.
    """
    with_dims = [t.dtype for t in tensors if t.dim() > 0]
    if len(with_dims) in (0, len(tensors)):
        return None
    kind = with_dims[0]
    for other in with_dims[1:]:
        kind = flambeau.promote_types(kind, other)
    ranks = {_rank_of(t.dtype) for t in tensors if t.dim() == 0}
    return kind if max(ranks) <= _rank_of(kind) else None


def _rank_of(kind: Any) -> int:
    if kind.is_complex:
        return 3
    return 2 if kind.is_floating_point else int(kind != flambeau.bool)


# Formulas -----------------------------------------------------------------------------------------


def draws(level: Level, overload: Overload, given: Given) -> bool:
    """Whether a call draws random numbers."""
    if not overload.entry.get("random"):
        return False
    compute = evaluator(level, overload, given)
    conditions = overload.entry.get("draws_unless", ())
    return not any(compute.formula((), text) for text in conditions)


def evaluator(level: Level, overload: Overload, values: Given) -> Evaluator:
    """Of formulas over arguments; operators that they call follow their own rules."""
    defaults = overload.entry.get("defaults", {})
    names = {n: _literal(text) for n, text in defaults.items() if text is not None} | values
    for name, length in overload.entry.get("lists", {}).items():
        value = names.get(name)
        if isinstance(value, int | float):
            names[name] = [value] * length

    def run(name: str, args: tuple[Any, ...], kwargs: Given) -> Any:
        functions = functions_named(name, overload.module)
        return level.interpret(_fitting(functions, args, kwargs), args, kwargs)

    return Evaluator(names, run, lambda name: is_operator(name, overload.module))


def _fitting(functions: tuple[Any, ...], args: tuple[Any, ...], kwargs: Given) -> Any:
    """The function that takes these arguments, and of several the one with the fewest single ints
    in place of lists.
    """
    if len(functions) == 1:
        return functions[0]
    costs: list[tuple[int, int]] = []
    for index, function in enumerate(functions):
        try:
            bound = _overrides.bind(function, args, kwargs)
        except TypeError:
            continue
        if bound is not None:
            _, place, given = bound
            overloads = overloads_of(function) or ()
            lists = overloads[place].entry.get("lists", {})
            costs.append((sum(isinstance(given.get(name), int) for name in lists), index))
    return functions[min(costs)[1] if costs else 0]


@cache
def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return getattr(flambeau, text)


def _listed(value: Any) -> Any:
    """Sizes and dims are lists in formulas."""
    if isinstance(value, tuple):
        return list(value)
    return value


def body(level: Level, overload: Overload, key: str, given: Given) -> Any:
    """The operator's body, of batches."""
    lets, text = overload.entry["body"]
    values = {name: _listed(v) for name, v in given.items()}
    level.bodies.append(key)
    try:
        result = evaluator(level, overload, values).formula(lets, text)
    finally:
        level.bodies.pop()
    return _named(overload, result)


def formula(level: Level, overload: Overload, moved: Given, text: str) -> Any:
    """A formula over tensors that begin with the batch."""
    values = {name: _listed(value) for name, value in moved.items()}
    values["n"] = level.size
    result = evaluator(level, overload, values).formula((), text)
    return _named(overload, wrapped(level, result))


def _named(overload: Overload, result: Any) -> Any:
    visible = overload.entry.get("visible")
    if visible is not None and isinstance(result, tuple):
        parts = tuple(result[i] for i in visible)
        result = parts[0] if len(parts) == 1 else parts
    name = overload.entry.get("results")
    if name is None or not isinstance(result, tuple | list):
        return result
    kind = getattr(flambeau.return_types, name)
    return kind(result) if kind.n_sequence_fields == len(result) else result


# Slice by slice -----------------------------------------------------------------------------------

_warned: set[str] = set()


def loop(level: Level, func: Any, key: str, args: Any, kwargs: Any, warn: bool = True) -> Any:
    """The function of one slice after another."""
    if warn and key not in _warned:
        _warned.add(key)
        warnings.warn(
            f"vmap(): {key} has no batching rule and is computed slice by slice",
            stacklevel=_steps_outside(),
        )
    parts = []
    for index in range(level.size):
        parts.append(func(*_slice(level, args, index), **_slice(level, kwargs, index)))
    return _joined(level, parts)


def _steps_outside() -> int:
    """How many calls above the one that asks the code is that is not of the library."""
    frame, steps = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("flambeau."):
        frame, steps = frame.f_back, steps + 1
    return steps


def _slice(level: Level, value: Any, index: int) -> Any:
    if level.has(value):
        return level.unwrap(value).select(0, index)
    if type(value) in (tuple, list):
        return type(value)(_slice(level, item, index) for item in value)
    if isinstance(value, dict):
        return {name: _slice(level, item, index) for name, item in value.items()}
    return value


def _joined(level: Level, parts: list[Any]) -> Any:
    first = parts[0]
    if isinstance(first, Tensor):
        shapes = {tuple(part.shape) for part in parts}
        if len(shapes) > 1:
            raise RuntimeError(
                f"vmap(): the shape of a result depends on the elements of a slice: {shapes}"
            )
        return level.wrap(flambeau.stack(parts))
    if isinstance(first, tuple | list):
        joined = [_joined(level, list(column)) for column in zip(*parts, strict=True)]
        return type(first)(joined)
    return first
