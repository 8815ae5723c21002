"""Jacobians and Hessians: the function runs once, and so may read elements; its graph is gone
through once for all rows, or columns, by the rules of batches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.func.derivatives import linearize, vjp
from flambeau.func.levels import Function, chosen, for_argnums, replaced
from flambeau.func.vectorize import vmap
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
        output, pull, *aux = vjp(
            _of_chosen(func, args, kwargs, places), *(args[p] for p in places), has_aux=has_aux
        )
        outputs, output_spec = tree_flatten(output)
        rows = _pulled(pull, outputs, output_spec, chunk_size)
        rows = [for_argnums(row, argnums) for row in rows]
        found = tree_unflatten(rows, output_spec)
        return (found, *aux) if has_aux else found

    return run


def _pulled(
    pull: Callable[..., Any], outputs: list[Tensor], spec: Any, chunk_size: int | None
) -> list[tuple[Any, ...]]:
    """The Jacobian of each output by each argument."""
    units = tree_unflatten(_units(outputs), spec)
    if sum(o.numel() for o in outputs) == 0:
        leaves, input_spec = tree_flatten(pull(tree_unflatten(_zeros(outputs), spec)))
        rows = [leaf.new_zeros([0, *leaf.shape]) for leaf in leaves]
    else:
        rows, input_spec = tree_flatten(vmap(pull, chunk_size=chunk_size)(units))
    parts = [row.split([o.numel() for o in outputs]) for row in rows]
    return [
        tree_unflatten(
            [part[i].reshape([*o.shape, *part[i].shape[1:]]) for part in parts], input_spec
        )
        for i, o in enumerate(outputs)
    ]


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
        columns = _pushed(push, leaves, input_spec, outputs)
        found = [
            for_argnums(tree_unflatten([column[o] for column in columns], input_spec), argnums)
            for o in range(len(outputs))
        ]
        result = tree_unflatten(found, output_spec)
        return (result, aux[0]) if has_aux else result

    return run


def _pushed(
    push: Callable[..., Any], leaves: list[Tensor], spec: Any, outputs: list[Tensor]
) -> list[list[Tensor]]:
    """For each argument the Jacobian of each output."""
    if sum(leaf.numel() for leaf in leaves) == 0:
        columns = [output.new_zeros([0, *output.shape]) for output in outputs]
    else:
        units = tree_unflatten(_units(leaves), spec)
        columns, _ = tree_flatten(vmap(lambda *tangents: push(*tangents))(*units))
    parts = [column.split([leaf.numel() for leaf in leaves]) for column in columns]
    return [
        [part[i].movedim(0, -1).reshape([*part[i].shape[1:], *leaf.shape]) for part in parts]
        for i, leaf in enumerate(leaves)
    ]


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


def _zeros(tensors: list[Tensor]) -> list[Tensor]:
    return [flambeau.zeros_like(t) for t in tensors]
