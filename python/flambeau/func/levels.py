"""What one transformation differentiates by, where others are around it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau.autograd._linear import linearizing
from flambeau.func._batched import batched_everywhere, innermost
from flambeau.utils._pytree import tree_flatten, tree_unflatten

Function = Callable[..., Any]
_thread = threading.local()


def runs() -> bool:
    """Whether this thread is in a function that `grad` or its like differentiates."""
    return getattr(_thread, "depth", 0) > 0


@contextmanager
def level(linearizes: bool = False) -> Iterator[bool]:
    """A transformation runs. Whether another one, which differentiates what it does, is around.

    Args:
        linearizes: whether the transformation pushes tangents.
    """
    depth = getattr(_thread, "depth", 0)
    _thread.depth = depth + 1
    try:
        with flambeau.enable_grad(), linearizing(linearizes):
            yield depth > 0
    finally:
        _thread.depth = depth


def fresh(tensor: Tensor) -> Tensor:
    """The same values as an input of this level; gradients flow on to what the tensor is made of.

    Raises:
        RuntimeError: the tensor is neither floating-point nor complex.
    """
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise RuntimeError(
            f"func: only floating-point and complex tensors have derivatives, got {tensor.dtype}"
        )
    return batched_everywhere(tensor, _as_input)


def _as_input(tensor: Tensor) -> Tensor:
    if tensor.requires_grad:
        return tensor.view_as(tensor)
    return tensor.detach().requires_grad_()


def fresh_tree(tree: Any, what: str) -> tuple[list[Tensor], Any]:
    """Inputs of this level in place of all tensors, as a list and in the nest.

    Raises:
        RuntimeError: something in the nest is no tensor.
    """
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{what}: expected tensors, got {type(leaf).__name__}")
    inputs = [fresh(leaf) for leaf in leaves]
    return inputs, tree_unflatten(inputs, spec)


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Tensor] | None,
    *,
    recorded: bool,
    retained: bool = False,
) -> list[Tensor]:
    """The gradients of outputs; zeros of inputs that they do not depend on."""
    pairs = list(zip(outputs, cotangents or outputs, strict=True))
    tracked = [(o, c) for o, c in pairs if o.requires_grad]
    if not tracked:
        return [flambeau.zeros_like(i) for i in inputs]
    found = flambeau.autograd.grad(
        [o for o, _ in tracked],
        list(inputs),
        None if cotangents is None else [c for _, c in tracked],
        create_graph=recorded,
        retain_graph=recorded or retained,
        allow_unused=True,
    )
    return [flambeau.zeros_like(i) if g is None else g for g, i in zip(found, inputs, strict=True)]


def reaches_others(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Whether outputs depend on leaves that are no inputs of this level: what the function closes
    over, and what the inputs were made of.
    """
    own = {id(innermost(i)) for i in inputs}
    leaves, _ = _C._autograd.extent_of_graphs([innermost(o) for o in outputs])
    return any(id(leaf) not in own for leaf in leaves)


def split_aux(result: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """The result of a function, and what it returns beside it: without a history of this level,
    unless another one is around."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{what}: with has_aux the function must return (output, aux)")
    output, aux = result
    return output, aux if _thread.depth > 1 else detached(aux)


def detached(tree: Any) -> Any:
    """The nest with tensors cut off from the graph."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([x.detach() if isinstance(x, Tensor) else x for x in leaves], spec)


def chosen(args: tuple[Any, ...], argnums: int | tuple[int, ...], what: str) -> tuple[int, ...]:
    """The places of the arguments to differentiate by, from the front."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for place in places:
        if not isinstance(place, int) or not -len(args) <= place < len(args):
            raise RuntimeError(
                f"{what}: argnums {argnums} do not fit {len(args)} positional arguments"
            )
    found = tuple(place % len(args) for place in places)
    if not found or len(set(found)) != len(found):
        raise RuntimeError(f"{what}: argnums must be different places, got {argnums}")
    return found


def for_argnums(found: Any, argnums: int | tuple[int, ...]) -> Any:
    """What belongs to each chosen argument; where one was named by an int, what belongs to it."""
    return found[0] if isinstance(argnums, int) else found


def replaced(args: tuple[Any, ...], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The arguments with others at some places."""
    found = list(args)
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found
