"""Gradients, and products of vectors with Jacobians."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.func.levels import (
    Function,
    chosen,
    detached,
    for_argnums,
    fresh_tree,
    gradients,
    level,
    reaches_others,
    replaced,
    split_aux,
)
from flambeau.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """The function that gives the gradient of `func`.

    Args:
        func: returns a tensor of one element.
        argnums: by which of the positional arguments; several give a tuple of gradients.
        has_aux: `func` returns (output, aux), and the new function (gradient, aux).

    Raises:
        RuntimeError: when it is called, if the output is no tensor of one element, or an argument
            holds something that has no derivatives.

    Example:
        >>> flambeau.func.grad(lambda x: (x ** 3).sum())(flambeau.tensor([1., 2.]))
        tensor([ 3., 12.])
        >>> flambeau.func.grad(flambeau.func.grad(flambeau.sin))(flambeau.tensor(1.))  # -sin(1)
        tensor(-0.8415)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return run


def grad_and_value(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Function:
    """The function that gives (gradient, output), or (gradient, (output, aux)).

    Args:
        func: returns a tensor of one element.
        argnums: by which of the positional arguments; several give a tuple of gradients.
        has_aux: `func` returns (output, aux).

    Example:
        >>> flambeau.func.grad_and_value(flambeau.exp)(flambeau.tensor(0.))
        (tensor(1.), tensor(1.))
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = chosen(args, argnums, "grad()")
        with level() as is_inner:
            inputs, values = fresh_tree(tuple(args[p] for p in places), "grad()")
            result = func(*replaced(args, places, values), **kwargs)
            output, aux = split_aux(result, has_aux, "grad()")
            if not isinstance(output, Tensor) or output.dim() != 0:
                shown = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
                raise RuntimeError(f"grad(): expected a tensor of no dims as output, got {shown}")
            recorded = is_inner or reaches_others([output], inputs)
            found = gradients([output], inputs, None, recorded=recorded)
        _, spec = tree_flatten(values)
        grads = for_argnums(tree_unflatten(found, spec), argnums)
        value = output if recorded else output.detach()
        return grads, (value, aux) if has_aux else value

    return run


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The output of `func`, and the function from cotangents to their products with its Jacobian.

    Args:
        func: returns tensors.
        primals: its arguments.
        has_aux: `func` returns (output, aux).

    Returns:
        (output, vjp_fn), or (output, vjp_fn, aux) with `has_aux`. `vjp_fn` takes what has the
        structure of the output and gives a tuple of what has that of each primal.

    Example:
        >>> output, product = flambeau.func.vjp(lambda x: x ** 2, flambeau.tensor([1., 2., 3.]))
        >>> output
        tensor([1., 4., 9.])
        >>> product(flambeau.tensor([1., 0., 1.]))
        (tensor([2., 0., 6.]),)
    """
    at = _evaluate(func, primals, has_aux, "vjp()")

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        vectors, vector_spec = tree_flatten(given)
        if vector_spec != at.output_spec:
            raise RuntimeError("vjp(): cotangents must have the structure of the output")
        with flambeau.enable_grad():
            is_recorded = at.recorded or any(v.requires_grad for v in vectors)
            keep = is_recorded if create_graph is None else create_graph
            found = gradients(at.outputs, at.inputs, vectors, recorded=keep, retained=retain_graph)
        return tree_unflatten(found, at.spec)

    return (at.output, pull, at.aux) if has_aux else (at.output, pull)


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False
) -> Any:
    """The output of `func`, and the product of its Jacobian with tangents.

    It is the derivative of the product with a cotangent, which is linear in that one (J. Townsend,
    A new trick for calculating Jacobian vector products, 2017): two passes backward, and so nests
    with everything.

    Args:
        func: returns tensors.
        primals: its arguments.
        tangents: of the shapes of these.
        has_aux: `func` returns (output, aux).

    Returns:
        (output, tangent), or (output, tangent, aux) with `has_aux`.

    Example:
        >>> x, direction = flambeau.tensor([1., 2.]), flambeau.tensor([1., 0.])
        >>> flambeau.func.jvp(lambda x: x ** 2, (x,), (direction,))
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp(): primals and tangents must be tuples")
    output, push, aux = _linearized(func, primals, has_aux, "jvp()")
    moved = push(*tangents)
    return (output, moved, aux) if has_aux else (output, moved)


def linearize(func: Function, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `func`, and the function from tangents to their products with its Jacobian.

    Args:
        func: returns tensors.
        primals: its arguments, where it is linearized.

    Example:
        >>> output, product = flambeau.func.linearize(lambda x: x ** 2, flambeau.tensor([1., 2.]))
        >>> product(flambeau.tensor([1., 1.]))
        tensor([2., 4.])
    """
    output, push, _ = _linearized(func, primals, False, "linearize()")
    return output, push


def _linearized(
    func: Function, primals: tuple[Any, ...], has_aux: bool, what: str
) -> tuple[Any, Callable[..., Any], Any]:
    at = _evaluate(func, primals, has_aux, what)
    with flambeau.enable_grad():
        seeds = [flambeau.zeros_like(o).requires_grad_() for o in at.outputs]
        pulled = gradients(at.outputs, at.inputs, seeds, recorded=True)

    def push(*tangents: Any) -> Any:
        vectors, vector_spec = tree_flatten(tangents)
        if vector_spec != at.spec:
            raise RuntimeError(f"{what}: tangents must have the structure of the primals")
        for vector, value in zip(vectors, at.inputs, strict=True):
            if vector.shape != value.shape:
                raise RuntimeError(
                    f"{what}: a tangent of shape {tuple(vector.shape)} does not fit a primal of "
                    f"shape {tuple(value.shape)}"
                )
        with flambeau.enable_grad():
            is_recorded = at.recorded or any(v.requires_grad for v in vectors)
            moved = gradients(pulled, seeds, vectors, recorded=is_recorded, retained=True)
        return tree_unflatten(moved, at.output_spec)

    return at.output, push, at.aux


class _Evaluation(NamedTuple):
    """A function at some primals."""

    inputs: list[Tensor]  # of this level, in place of the primals
    spec: Any  # of the primals
    outputs: list[Tensor]
    output_spec: Any
    output: Any  # what users get of it
    aux: Any
    recorded: bool  # whether derivatives are differentiated, too


def _evaluate(func: Function, primals: tuple[Any, ...], has_aux: bool, what: str) -> _Evaluation:
    with level() as is_inner:
        inputs, values = fresh_tree(primals, what)
        output, aux = split_aux(func(*values), has_aux, what)
        outputs, output_spec = tree_flatten(output)
        for one in outputs:
            if not isinstance(one, Tensor):
                raise RuntimeError(
                    f"{what}: the function must return tensors, got {type(one).__name__}"
                )
        recorded = is_inner or reaches_others(outputs, inputs)
    _, spec = tree_flatten(primals)
    shown = output if recorded else detached(output)
    return _Evaluation(inputs, spec, outputs, output_spec, shown, aux, recorded)
