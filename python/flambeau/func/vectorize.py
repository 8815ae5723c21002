"""Mapping a function over a dim of its arguments."""

from __future__ import annotations

import functools
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.func._batching import level_of
from flambeau.func.levels import Function
from flambeau.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["vmap"]

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """The function that maps `func` over a dim of its arguments, and stacks what it returns.

    `func` runs once: its tensors stand for all slices, and each operator computes them at once, by
    a rule that follows from its declaration. One without a rule is computed slice by slice, with a
    warning. What depends on elements in Python (`item()`, `if x > 0`) is refused.

    Args:
        func: takes and returns tensors, in any nest of containers.
        in_dims: the mapped dim of each argument, None where an argument is the same for all: an
            int for all arguments, or a nest that is a prefix of that of the arguments.
        out_dims: where the dim goes in the results.
        randomness: what operators that draw random numbers do: "error", "different" numbers for
            each slice, or the "same".
        chunk_size: how many slices are computed at once; None: all.

    Raises:
        ValueError: when it is called, if dims do not fit the arguments, or their sizes differ.
        RuntimeError: if `func` draws random numbers and `randomness` is "error", or reads elements.

    Example:
        >>> rows = flambeau.tensor([[1., 2.], [3., 4.]])
        >>> flambeau.func.vmap(flambeau.dot)(rows, rows)
        tensor([ 5., 25.])
        >>> flambeau.func.vmap(flambeau.func.grad(lambda x: (x ** 2).sum()))(rows)  # one per sample
        tensor([[2., 4.],
                [6., 8.]])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"vmap(): randomness must be one of {_RANDOMNESS}, got {brief(randomness)}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap(): chunk_size must be positive, got {chunk_size}")

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        count = len(tree_flatten(args)[0])
        dims = _dims_of(in_dims, args)
        dims += [0 if isinstance(x, Tensor) else None for x in leaves[count:]]
        mapped = [x if d is None else x.movedim(d, 0) for x, d in zip(leaves, dims, strict=True)]
        size = _size(leaves, dims)
        step = size if chunk_size is None else chunk_size
        chunks = [
            _mapped(func, mapped, dims, spec, (start, min(step, size - start)), randomness)
            for start in range(0, size, step)
        ]
        return _placed(chunks, out_dims)

    return run


def _mapped(
    func: Function,
    leaves: list[Any],
    dims: list[int | None],
    spec: Any,
    chunk: tuple[int, int],
    randomness: str,
) -> tuple[list[Any], Any]:
    """What the function gives for some of the slices: tensors whose first dim counts them, or that
    have no batch, as a pair with None.
    """
    start, size = chunk
    level = level_of(size, randomness)
    given = [
        leaf if dim is None else level.wrap(leaf.narrow(0, start, size))
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    with level:
        args, kwargs = tree_unflatten(given, spec)
        results, result_spec = tree_flatten(func(*args, **kwargs))
        for leaf in results:
            if not isinstance(leaf, Tensor):
                raise ValueError(
                    f"vmap(): the function must return tensors, got {type(leaf).__name__}"
                )
    found = [(level.unwrap(leaf), level.has(leaf)) for leaf in results]
    return list(zip(results, found, strict=True)), result_spec


def _dims_of(in_dims: Any, args: tuple[Any, ...]) -> list[int | None]:
    """The mapped dim of each leaf of the arguments."""
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    found: list[int | None] = []
    if not isinstance(in_dims, int | tuple):
        raise ValueError(f"vmap(): in_dims must be an int or a tuple, got {type(in_dims).__name__}")
    if isinstance(in_dims, tuple) and len(in_dims) != len(args):
        raise ValueError(f"vmap(): in_dims {in_dims} do not fit {len(args)} positional arguments")
    _spread(in_dims, args, found)
    return found


def _spread(dims: Any, tree: Any, found: list[int | None]) -> None:
    """Gives each leaf of a nest its dim, from a nest of dims that is a prefix of it."""
    if dims is None or isinstance(dims, int):
        leaves, _ = tree_flatten(tree)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                if dims is not None and not isinstance(tree, tuple | list | dict):
                    raise ValueError(
                        f"vmap(): in_dims has {dims} for a {type(leaf).__name__}; expected None"
                    )
                found.append(None)
            else:
                found.append(_checked(dims, leaf))
        return
    if isinstance(tree, dict) and isinstance(dims, dict) and dims.keys() == tree.keys():
        for key in tree:
            _spread(dims[key], tree[key], found)
        return
    fits = isinstance(dims, tuple | list) and isinstance(tree, tuple | list)
    if not fits or len(dims) != len(tree):
        raise ValueError(f"vmap(): in_dims {dims} do not fit an argument of {type(tree).__name__}")
    for part, item in zip(dims, tree, strict=True):
        _spread(part, item, found)


def _checked(dim: int | None, tensor: Tensor) -> int | None:
    if dim is None:
        return None
    if not -tensor.dim() <= dim < tensor.dim():
        raise ValueError(f"vmap(): in_dims has {dim} for a tensor of shape {tuple(tensor.shape)}")
    return dim


def _size(leaves: list[Any], dims: list[int | None]) -> int:
    """How many slices there are."""
    sizes = {leaf.shape[d] for leaf, d in zip(leaves, dims, strict=True) if d is not None}
    if not sizes:
        raise ValueError("vmap(): no argument has a dim to map over; all in_dims are None")
    if len(sizes) > 1:
        raise ValueError(f"vmap(): the mapped dims differ in size: {sorted(sizes)}")
    (size,) = sizes
    if size == 0:
        raise ValueError("vmap(): the mapped dim is empty: there is nothing that func could return")
    return int(size)


def _placed(chunks: list[tuple[list[Any], Any]], out_dims: Any) -> Any:
    """The results of all chunks, the batch where it is wanted."""
    first, spec = chunks[0]
    dims = _out_dims(out_dims, tree_unflatten([leaf for leaf, _ in first], spec), len(first))
    columns = zip(*(leaves for leaves, _ in chunks), strict=True)
    joined = [_joined(column, dim) for column, dim in zip(columns, dims, strict=True)]
    return tree_unflatten(joined, spec)


def _joined(parts: tuple[Any, ...], dim: int | None) -> Tensor:
    leaf, (_, has_batch) = parts[0]
    if dim is None:
        if has_batch:
            raise ValueError("vmap(): out_dims is None for a result that differs between slices")
        return leaf
    values = [value for _, (value, _) in parts]
    whole = values[0] if len(values) == 1 else flambeau.cat(values)
    return whole.movedim(0, dim)


def _out_dims(out_dims: Any, result: Any, count: int) -> list[int | None]:
    if out_dims is None or isinstance(out_dims, int):
        return [out_dims] * count
    found: list[int | None] = []

    def spread(dims: Any, tree: Any) -> None:
        if dims is None or isinstance(dims, int):
            leaves, _ = tree_flatten(tree)
            found.extend([dims] * len(leaves))
        elif isinstance(dims, dict) and isinstance(tree, dict):
            for key in tree:
                spread(dims[key], tree[key])
        elif isinstance(tree, tuple | list) and len(dims) == len(tree):
            for part, item in zip(dims, tree, strict=True):
                spread(part, item)
        elif len(dims) == 1 and isinstance(tree, Tensor):
            spread(dims[0], tree)
        else:
            raise ValueError(f"vmap(): out_dims {out_dims} do not fit what the function returns")

    spread(out_dims, result)
    return found
