"""Jacobians and Hessians: the function runs once, and so may read elements; its graph is gone
through once for all rows, or columns, by the rules of batches, or where it is small for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.func.derivatives import Linearization, evaluate
from flambeau.func.levels import Function, chosen, for_argnums, replaced
from flambeau.func.vectorize import vmap
from flambeau.utils._pytree import tree_unflatten

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
        chunk_size: how many rows are computed at once, of all outputs together; None: all.

    Raises:
        ValueError: `chunk_size` is not positive.

    Returns:
        A function whose result has shape (*output.shape, *argument.shape).

    Example:
        >>> x = flambeau.tensor([2., 3.])
        >>> flambeau.func.jacrev(lambda x: flambeau.stack([x.sum(), x.prod()]))(x)
        tensor([[1., 1.],
                [3., 2.]])
    """

    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev(): chunk_size must be positive, got {chunk_size}")

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = chosen(args, argnums, "jacrev()")
        at = evaluate(
            _of_chosen(func, args, kwargs, places),
            tuple(args[p] for p in places),
            has_aux,
            "jacrev()",
        )
        rows = _rows(at.pulled, at.outputs, at.inputs, (at.outputs, at.recorded), chunk_size)
        parts = [row.split([o.numel() for o in at.outputs]) for row in rows]
        found = [
            for_argnums(
                tree_unflatten(
                    [part[i].reshape([*o.shape, *part[i].shape[1:]]) for part in parts], at.spec
                ),
                argnums,
            )
            for i, o in enumerate(at.outputs)
        ]
        result = tree_unflatten(found, at.output_spec)
        return (result, at.aux) if has_aux else result

    return run


def jacfwd(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Function:
    """The function that gives the Jacobian of `func`, a column for each element of its arguments.

    Args:
        func: returns tensors.
        argnums: by which of the positional arguments; several give a tuple for each output.
        has_aux: `func` returns (output, aux), and the new function (Jacobian, aux).
        randomness: accepted for compatibility: the function runs once, and what it draws is the
            same
            for all columns.

    Returns:
        A function whose result has shape (*output.shape, *argument.shape).

    Example:
        >>> flambeau.func.jacfwd(flambeau.sin)(flambeau.zeros(2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = chosen(args, argnums, "jacfwd()")
        at = evaluate(
            _of_chosen(func, args, kwargs, places),
            tuple(args[p] for p in places),
            has_aux,
            "jacfwd()",
            linearizes=True,
        )
        linear = Linearization(at)
        graph = (linear.products, at.recorded)
        columns = _rows(linear.pushed, at.inputs, at.outputs, graph, None)
        parts = [column.split([i.numel() for i in at.inputs]) for column in columns]
        found = [
            for_argnums(
                tree_unflatten(
                    [
                        part[i].movedim(0, -1).reshape([*part[i].shape[1:], *value.shape])
                        for i, value in enumerate(at.inputs)
                    ],
                    at.spec,
                ),
                argnums,
            )
            for part in parts
        ]
        result = tree_unflatten(found, at.output_spec)
        return (result, at.aux) if has_aux else result

    return run


# Up to here a pass for each row takes less time than one for a batch of all: so many rows, and so
# many elements in all of them, where each takes about a nanosecond.
_FEW_ROWS = 32
_FEW_ELEMENTS = 1 << 18


def _rows(
    linear: Callable[[list[Tensor]], list[Tensor]],
    given: list[Tensor],
    wanted: list[Tensor],
    graph: tuple[list[Tensor], bool],
    chunk_size: int | None,
) -> list[Tensor]:
    """What a linear function makes of each unit vector, along the first dim of each result.

    Args:
        linear: goes through a graph, from vectors of the shapes of `given` to those of `wanted`.
        graph: the ends of it, and whether what it computes is recorded.
        chunk_size: how many vectors there are at once; None: all.
    """
    count = sum(g.numel() for g in given)
    if count == 0:
        found = linear([flambeau.zeros_like(g) for g in given])
        return [f.new_zeros([0, *f.shape]) for f in found]
    units = _units(given)
    if not _is_small(count, (*given, *wanted), *graph):
        mapped: tuple[Tensor, ...] = vmap(
            lambda *vectors: tuple(linear(list(vectors))), chunk_size=chunk_size
        )(*units)
        return list(mapped)
    each = [linear(list(vectors)) for vectors in zip(*(u.unbind() for u in units), strict=True)]
    return [flambeau.stack(column) for column in zip(*each, strict=True)]


def _is_small(count: int, tensors: tuple[Tensor, ...], ends: list[Tensor], recorded: bool) -> bool:
    """Whether to go through a graph once for each of so many vectors: what is recorded would be so
    many times longer, and batches take a batch's time each time.
    """
    if count == 1:
        return True
    if recorded or count > _FEW_ROWS or any(type(t) is not Tensor for t in tensors):
        return False
    _, elements = _C._autograd.extent_of_graphs(ends)
    return bool(count * elements <= _FEW_ELEMENTS)


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that gives the second derivatives of `func`: `jacfwd(jacrev(func))`.

    Args:
        func: returns tensors.
        argnums: by which of the positional arguments; several give a tuple of tuples.

    Returns:
        A function whose result has shape (*output.shape, *argument.shape, *argument.shape).

    Example:
        >>> flambeau.func.hessian(lambda x: x[0] ** 2 * x[1])(flambeau.tensor([1., 2.]))
        tensor([[4., 2.],
                [2., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _of_chosen(
    func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], places: tuple[int, ...]
) -> Function:
    """The function of the chosen arguments alone."""
    return lambda *given: func(*replaced(args, places, given), **kwargs)


def _units(tensors: list[Tensor]) -> list[Tensor]:
    """All tensors whose elements are 0 but for one, which is 1: along the first dim of each result,
    those of the first tensor first.
    """
    count = sum(t.numel() for t in tensors)
    found, start = [], 0
    for tensor in tensors:
        units = flambeau.zeros(count, tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        units[start : start + tensor.numel()].fill_diagonal_(1)
        found.append(units.reshape([count, *tensor.shape]))
        start += tensor.numel()
    return found
