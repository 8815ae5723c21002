"""Jacobians and Hessians, row by row or column by column: the function runs once, and so may read
elements, and its graph is gone through once for each row, in C++.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.func.derivatives import linearize, vjp
from flambeau.func.levels import Function, chosen, for_argnums, replaced
from flambeau.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """The function that gives the Jacobian of `func`, a row for each element of its output.

    Args:
        func: returns tensors.
        argnums: by which of the positional arguments; several give a tuple for each output.
        has_aux: `func` returns (output, aux), and the new function (Jacobian, aux).
        chunk_size: accepted for compatibility: rows come one by one.

    Returns:
        A function whose result has shape (*output.shape, *argument.shape).
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = chosen(args, argnums, "jacrev()")
        output, pull, *aux = vjp(
            _of_chosen(func, args, kwargs, places), *(args[p] for p in places), has_aux=has_aux
        )
        outputs, output_spec = tree_flatten(output)
        rows = [
            _pulled(pull, outputs, output_spec, index, len(places)) for index in range(len(outputs))
        ]
        rows = [for_argnums(row, argnums) for row in rows]
        found = tree_unflatten(rows, output_spec)
        return (found, *aux) if has_aux else found

    return run


def _pulled(
    pull: Callable[..., Any], outputs: list[Tensor], spec: Any, index: int, count: int
) -> tuple[Any, ...]:
    """The Jacobian of one output by each argument."""
    output = outputs[index]
    rows: list[list[Tensor]] = []
    input_spec: Any = None
    for unit in _units(output):
        cotangents = [unit if o is output else flambeau.zeros_like(o) for o in outputs]
        leaves, input_spec = tree_flatten(pull(tree_unflatten(cotangents, spec)))
        rows.append(leaves)
    if not rows:
        leaves, input_spec = tree_flatten(pull(tree_unflatten(_zeros(outputs), spec)))
        stacked = [leaf.new_zeros([*output.shape, *leaf.shape]) for leaf in leaves]
    else:
        stacked = [
            flambeau.stack(parts).reshape([*output.shape, *parts[0].shape])
            for parts in zip(*rows, strict=True)
        ]
    found: tuple[Any, ...] = tree_unflatten(stacked, input_spec)
    assert len(found) == count
    return found


def jacfwd(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Function:
    """The function that gives the Jacobian of `func`, a column for each element of its arguments.

    Arguments and result as of `jacrev`. `randomness` is accepted for compatibility: the function
    runs once.
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = chosen(args, argnums, "jacfwd()")
        aux: list[Any] = []

        def without_aux(*given: Any) -> Any:
            result = _of_chosen(func, args, kwargs, places)(*given)
            if has_aux:
                result, extra = result
                aux.append(extra)
            return result

        primals = tuple(args[p] for p in places)
        output, push = linearize(without_aux, *primals)
        outputs, output_spec = tree_flatten(output)
        leaves, input_spec = tree_flatten(primals)
        columns = [_pushed(push, leaves, input_spec, i, outputs) for i in range(len(leaves))]
        found = [
            for_argnums(tree_unflatten([column[o] for column in columns], input_spec), argnums)
            for o in range(len(outputs))
        ]
        result = tree_unflatten(found, output_spec)
        return (result, aux[0]) if has_aux else result

    return run


def _pushed(
    push: Callable[..., Any], leaves: list[Tensor], spec: Any, index: int, outputs: list[Tensor]
) -> list[Tensor]:
    """The Jacobian of each output by one argument."""
    leaf = leaves[index]
    columns = []
    for unit in _units(leaf):
        tangents = [unit if x is leaf else flambeau.zeros_like(x) for x in leaves]
        moved, _ = tree_flatten(push(*tree_unflatten(tangents, spec)))
        columns.append(moved)
    if not columns:
        return [output.new_zeros([*output.shape, *leaf.shape]) for output in outputs]
    return [
        flambeau.stack(parts, -1).reshape([*parts[0].shape, *leaf.shape])
        for parts in zip(*columns, strict=True)
    ]


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that gives the second derivatives of `func`: `jacfwd(jacrev(func))`."""
    return jacfwd(jacrev(func, argnums), argnums)


def _of_chosen(
    func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], places: tuple[int, ...]
) -> Function:
    """The function of the chosen arguments alone."""
    return lambda *given: func(*replaced(args, places, given), **kwargs)


def _units(tensor: Tensor) -> list[Tensor]:
    """For each element a tensor that is 1 there and 0 elsewhere."""
    rows = flambeau.eye(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    return [row.reshape(tensor.shape) for row in rows]


def _zeros(tensors: list[Tensor]) -> list[Tensor]:
    return [flambeau.zeros_like(t) for t in tensors]
