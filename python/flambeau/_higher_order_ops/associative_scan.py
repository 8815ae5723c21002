"""Running combinations: cumulative sums with another operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau.utils import _pytree as pytree

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """All of y[0] = x[0], y[i] = combine_fn(y[i - 1], x[i]) along a dim, one after the other.

    Args:
        combine_fn: associative; takes and returns values of the structure of xs, of one row each.
        xs: a tensor, or tensors in lists, tuples and dicts, of one size in `dim`.
        dim: the dim that rows follow each other in.
        reverse: begin with the last row.
        combine_mode: accepted; every function is called the same way.

    Returns:
        What has the structure and the shapes of xs.

    Raises:
        ValueError: there is no tensor, or sizes differ.

    Example:
        >>> associative_scan(lambda a, b: a * b, flambeau.tensor([1., 2., 3.]), 0)
        tensor([1., 2., 6.])
    """
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves or len({x.shape[dim] for x in leaves}) != 1:
        sizes = [x.shape[dim] for x in leaves]
        raise ValueError(f"associative_scan(): expected tensors of one size in dim {dim}: {sizes}")
    count = leaves[0].shape[dim]
    if count == 0:
        return xs
    rows = [spec.unflatten(row) for row in zip(*(x.unbind(dim) for x in leaves), strict=True)]
    if reverse:
        rows.reverse()
    results = rows[:1]
    for row in rows[1:]:
        results.append(combine_fn(results[-1], row))
    if reverse:
        results.reverse()
    columns = zip(*(pytree.tree_leaves(result) for result in results), strict=True)
    return spec.unflatten([flambeau.stack(column, dim) for column in columns])
