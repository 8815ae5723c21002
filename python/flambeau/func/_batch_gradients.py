"""Gradients of batches: the graph is gone through once, with batches of gradients."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.autograd import run_gradients
from flambeau.func._batched import Batched, Level, is_of, taking


def gradients_of_batches(
    level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """autograd.grad: the graph is gone through once, for all slices."""
    outputs, inputs, cotangents = _arguments(args, kwargs)
    options = {n: v for n, v in kwargs.items() if n not in ("outputs", "inputs", "grad_outputs")}
    if options.pop("is_grads_batched", False):
        rows = level.of_size(count_of_rows(cotangents))
        return gradients_of_rows(rows, outputs, inputs, cotangents, options)
    vectors = [None] * len(outputs) if cotangents is None else list(cotangents)
    return tuple(_of_graph(list(outputs), list(inputs), vectors, options))


def count_of_rows(cotangents: Any) -> int:
    """What the first dims of batched cotangents count.

    Raises:
        ValueError: one is missing, or they differ.
    """
    if not cotangents or any(c is None for c in cotangents):
        raise ValueError("grad: is_grads_batched=True needs grad_outputs for every output")
    counts = {c.shape[0] if c.dim() else None for c in cotangents}
    (count, *others) = counts
    if others or count is None:
        raise ValueError(
            "grad: with is_grads_batched=True the first dims of all grad_outputs must count the "
            f"same rows, got shapes {[tuple(c.shape) for c in cotangents]}"
        )
    return int(count)


def gradients_of_rows(
    rows: Level, outputs: Any, inputs: Any, cotangents: Any, options: dict[str, Any]
) -> Any:
    """autograd.grad where the first dim of the cotangents counts gradients to be computed."""
    with rows.of_batches_alone():
        vectors = [rows.wrap(c) for c in cotangents]
        found = _of_graph(list(outputs), list(inputs), vectors, options)
        return tuple(None if g is None else rows.unwrap(g) for g in found)


def _of_graph(
    outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Any], options: dict[str, Any]
) -> list[Any]:
    """Gradients of tensors that may be batches: the graph is that of the tensors which hold them,
    cotangents stay batches of the levels that the graph knows nothing of.
    """
    levels = [x.batch_level for x in (*outputs, *inputs) if isinstance(x, Batched)]
    if not levels:
        return _by_engine(outputs, inputs, cotangents, options)
    level = max(levels, key=lambda level: level.depth)
    if not all(level.has(x) for x in (*outputs, *inputs)):
        return _of_mixed(level, outputs, inputs, cotangents, options)
    vectors = [
        _ones(o) if c is None else _without(level, c)
        for o, c in zip(outputs, cotangents, strict=True)
    ]
    values = [level.unwrap(o) for o in outputs]
    found = _of_graph(values, [level.unwrap(i) for i in inputs], vectors, options)
    return [None if g is None else _with(level, g) for g in found]


def _of_mixed(
    level: Level,
    outputs: list[Tensor],
    inputs: list[Tensor],
    cotangents: list[Any],
    options: dict[str, Any],
) -> list[Any]:
    """What is no batch is the same in all slices, and has a gradient for each of them: row i of
    all gradients is that of slice i, whose cotangents are those of the others where they are zero.
    """
    rows = level.beside()
    diagonal = flambeau.eye(level.size, dtype=flambeau.bool)
    with rows.of_batches_alone():
        vectors: list[Any] = []
        for output, given in zip(outputs, cotangents, strict=True):
            if level.has(output):
                vector = _ones(output) if given is None else _without(level, given)
                mask = diagonal.reshape([level.size, level.size, *[1] * output.dim()])
                vectors.append(rows.wrap(flambeau.where(mask, vector.unsqueeze(0), 0)))
            elif given is None or not is_of(given, level):
                vectors.append(given)
            else:
                vectors.append(rows.wrap(_without(level, given)))
        sources = [level.unwrap(i) if level.has(i) else i for i in inputs]
        values = [level.unwrap(o) if level.has(o) else o for o in outputs]
        found = _of_graph(values, sources, vectors, options)
        results: list[Any] = []
        for gradient, source in zip(found, inputs, strict=True):
            if gradient is None:
                results.append(None)
            elif level.has(source):
                own = rows.unwrap(gradient).diagonal(0, 0, 1).movedim(-1, 0)
                results.append(_with(level, own))
            elif rows.has(gradient):
                results.append(_with(level, rows.unwrap(gradient)))
            else:
                results.append(gradient)
    return results


def _by_engine(
    outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Any], options: dict[str, Any]
) -> list[Any]:
    """Gradients of tensors that are no batches. Where cotangents are, the operators that the graph
    is made of are taken over (flambeau.func._batching).
    """
    if not any(isinstance(c, Batched) for c in cotangents):
        return list(run_gradients(outputs, inputs, cotangents, **options))
    with taking(cotangents):
        found = run_gradients(outputs, inputs, cotangents, **options)
    for gradient, source in zip(found, inputs, strict=True):
        if gradient is not None and gradient.is_meta and not source.is_meta:
            raise RuntimeError("vmap(): a node of the graph lost a batch of gradients")
    return list(found)


def _without(level: Level, value: Tensor) -> Tensor:
    """The slices of a level along the first dim; what it holds may still be a batch of others."""
    if not is_of(value, level):
        return value.unsqueeze(0).expand([level.size, *value.shape])
    if level.has(value):
        return level.unwrap(value)
    assert isinstance(value, Batched)
    return value.batch_level.wrap(_without(level, value.batch_value).movedim(1, 0))


def _with(level: Level, value: Tensor) -> Tensor:
    """The other way: a batch of the level, inside those of deeper ones."""
    if isinstance(value, Batched) and value.batch_level.depth > level.depth:
        return value.batch_level.wrap(_with(level, value.batch_value.movedim(1, 0)))
    return level.wrap(value)


def _ones(output: Tensor) -> Tensor:
    """Where a cotangent is left out, for all slices."""
    if output.numel() != 1:
        raise RuntimeError(
            "grad: outputs without grad_outputs must have one element, got shape "
            f"{tuple(output.shape)}"
        )
    assert isinstance(output, Batched)
    return flambeau.ones_like(output.batch_value)


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    names = ("outputs", "inputs", "grad_outputs")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    listed = [given.get(name) for name in names]
    return tuple([v] if isinstance(v, Tensor) else v for v in listed)  # type: ignore[return-value]
