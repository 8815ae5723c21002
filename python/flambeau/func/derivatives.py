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
    at = evaluate(func, primals, has_aux, "vjp()")

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        vectors, vector_spec = tree_flatten(given)
        if vector_spec != at.output_spec:
            raise RuntimeError("vjp(): cotangents must have the structure of the output")
        return tree_unflatten(at.pulled(vectors, retain_graph, create_graph), at.spec)

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
    at = Linearization(evaluate(func, primals, has_aux, "jvp()", linearizes=True))
    moved = at.push(tangents, "jvp()")
    return (at.output, moved, at.aux) if has_aux else (at.output, moved)


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
    at = Linearization(evaluate(func, primals, False, "linearize()", linearizes=True))
    return at.output, lambda *tangents: at.push(tangents, "linearize()")


class Evaluation(NamedTuple):
    """A function at some primals."""

    inputs: list[Tensor]  # of this level, in place of the primals
    spec: Any  # of the primals
    outputs: list[Tensor]
    output_spec: Any
    output: Any  # what users get of it
    aux: Any
    recorded: bool  # whether derivatives are differentiated, too

    def pulled(
        self, cotangents: list[Tensor], retained: bool = True, recorded: bool | None = None
    ) -> list[Tensor]:
        """The products of cotangents, one for each output, with the Jacobian: one for each input.

        Args:
            retained: whether others follow.
            recorded: whether they are differentiated; None: where somebody may want it.
        """
        if recorded is None:
            recorded = self.recorded or any(c.requires_grad for c in cotangents)
        with flambeau.enable_grad():
            return gradients(
                self.outputs, self.inputs, cotangents, recorded=recorded, retained=retained
            )


def evaluate(
    func: Function, primals: tuple[Any, ...], has_aux: bool, what: str, *, linearizes: bool = False
) -> Evaluation:
    """Runs a function, and keeps its graph.

    Args:
        linearizes: whether tangents are pushed through it.
    """
    with level(linearizes) as is_inner:
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
    return Evaluation(inputs, spec, outputs, output_spec, shown, aux, recorded)


class Linearization:
    """A function at some primals, through which tangents are pushed: the products of cotangents
    with its Jacobian, differentiated by these.
    """

    def __init__(self, at: Evaluation) -> None:
        self.at = at
        self.output, self.aux = at.output, at.aux
        with flambeau.enable_grad():
            self._seeds = [flambeau.zeros_like(o) for o in at.outputs]
            self._moving = [
                s.requires_grad_() for s in self._seeds if s.is_floating_point() or s.is_complex()
            ]
            self.products = gradients(at.outputs, at.inputs, self._seeds, recorded=True)

    def pushed(self, tangents: list[Tensor]) -> list[Tensor]:
        """The products of the Jacobian with tangents, one for each input: one for each output."""
        recorded = self.at.recorded or any(t.requires_grad for t in tangents)
        with flambeau.enable_grad():
            moved = iter(
                gradients(self.products, self._moving, tangents, recorded=recorded, retained=True)
            )
        # What has no derivatives, such as indices, has tangents of zeros.
        return [next(moved) if s.requires_grad else flambeau.zeros_like(s) for s in self._seeds]

    def push(self, tangents: Any, what: str) -> Any:
        """The same of what has the structure of the primals."""
        vectors, spec = tree_flatten(tangents)
        if spec != self.at.spec:
            raise RuntimeError(f"{what}: tangents must have the structure of the primals")
        for vector, value in zip(vectors, self.at.inputs, strict=True):
            if vector.shape != value.shape:
                raise RuntimeError(
                    f"{what}: a tangent of shape {tuple(vector.shape)} does not fit a primal of "
                    f"shape {tuple(value.shape)}"
                )
        return tree_unflatten(self.pushed(vectors), self.at.output_spec)
