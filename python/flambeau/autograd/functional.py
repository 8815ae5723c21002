"""Jacobians, Hessians and products with them, of Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import _C
from flambeau._values import brief
from flambeau.autograd.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(value: Any, name: str) -> tuple[bool, tuple[Any, ...]]:
    single = not isinstance(value, tuple)
    items = (value,) if single else value
    for i, item in enumerate(items):
        if not isinstance(item, _C.Tensor):
            raise TypeError(f"{name}[{i}] must be a Tensor, not {type(item).__name__}")
    return single, items


def _fresh(inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Inputs whose gradients can be asked for: views of the given ones, or new leaves."""
    if create_graph:
        return tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs
        )
    return tuple(x.detach().requires_grad_() for x in inputs)


def _evaluate(
    func: Callable[..., Any], inputs: Any, create_graph: bool, name: str
) -> tuple[bool, tuple[Any, ...], bool, tuple[Any, ...]]:
    single_input, given = _tuple(inputs, f"{name}: inputs")
    fresh = _fresh(given, create_graph)
    single_output, outputs = _tuple(func(*fresh), f"{name}: the result of func")
    return single_input, fresh, single_output, outputs


def _detached(tensors: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    return tensors if create_graph else tuple(x.detach() for x in tensors)


def _unwrap(items: tuple[Any, ...], single: bool) -> Any:
    return items[0] if single else items


def _vectors(v: Any, like: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """The given vectors, checked; ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{name}: v can be left out only for a single element")
        return (like[0].detach() * 0 + 1,)
    _, vectors = _tuple(v, f"{name}: v")
    if len(vectors) != len(like):
        raise RuntimeError(f"{name}: v has {len(vectors)} tensors, expected {len(like)}")
    for i, (a, b) in enumerate(zip(vectors, like, strict=True)):
        if tuple(a.shape) != tuple(b.shape):
            raise RuntimeError(
                f"{name}: v[{i}] has shape {tuple(a.shape)}, expected {tuple(b.shape)}"
            )
    return vectors


def _gradients(
    outputs: tuple[Any, ...],
    inputs: tuple[Any, ...],
    vectors: tuple[Any, ...] | None,
    *,
    create_graph: bool = False,
    retain_graph: bool = False,
    strict: bool = False,
    name: str = "",
) -> tuple[Any, ...]:
    """Gradients, zeros where there is no dependence (an error if strict)."""
    used = [i for i, output in enumerate(outputs) if output.requires_grad]
    if strict and len(used) < len(outputs):
        missing = next(i for i in range(len(outputs)) if i not in used)
        raise RuntimeError(f"{name}: result {missing} does not depend on any input")
    results: tuple[Any, ...] = (None,) * len(inputs)
    if used:
        from flambeau.autograd import grad

        results = grad(
            tuple(outputs[i] for i in used),
            inputs,
            None if vectors is None else tuple(vectors[i] for i in used),
            retain_graph=retain_graph or create_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    filled = []
    for i, (x, g) in enumerate(zip(inputs, results, strict=True)):
        if g is None and strict:
            raise RuntimeError(f"{name}: the result does not depend on input {i}")
        filled.append(x.new_zeros(x.shape) if g is None else g)
    return tuple(filled)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of a vector with the Jacobian of `func` at `inputs`.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: of the shapes of the result; may be left out when that is one element.
        create_graph: whether the product can be differentiated.
        strict: raise, instead of giving zeros, where the result does not depend on an input.

    Returns:
        (func(*inputs), v^T J), the latter in the form of `inputs`.

    Example:
        >>> from flambeau.autograd.functional import vjp
        >>> x, v = flambeau.tensor([1., 2.]), flambeau.tensor([1., 10.])
        >>> vjp(lambda x: x ** 2, x, v)
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        single_input, fresh, single_output, outputs = _evaluate(func, inputs, create_graph, "vjp")
        vectors = _vectors(v, outputs, "vjp")
        products = _gradients(
            outputs, fresh, vectors, create_graph=create_graph, strict=strict, name="vjp"
        )
    return (
        _unwrap(_detached(outputs, create_graph), single_output),
        _unwrap(_detached(products, create_graph), single_input),
    )


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of the Jacobian of `func` at `inputs` with a vector.

    Reverse mode twice: the gradient is linear in the vector it starts from, and its derivative by
    that vector is the product wanted. forward_ad does it in one pass where operators support it.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: of the shapes of `inputs`; may be left out when that is one element.
        create_graph: whether the product can be differentiated.
        strict: raise, instead of giving zeros, where the result does not depend on an input.

    Returns:
        (func(*inputs), J v), the latter in the form of the result.

    Example:
        >>> from flambeau.autograd.functional import jvp
        >>> x, v = flambeau.tensor([1., 2.]), flambeau.tensor([1., 10.])
        >>> jvp(lambda x: x.sum() * x, x, v)
        (tensor([3., 6.]), tensor([14., 52.]))
    """
    with enable_grad():
        _, fresh, single_output, outputs = _evaluate(func, inputs, create_graph, "jvp")
        vectors = _vectors(v, fresh, "jvp")
        probes = tuple((x.detach() * 0).requires_grad_() for x in outputs)
        first = _gradients(outputs, fresh, probes, create_graph=True, strict=strict, name="jvp")
        products = _gradients(first, probes, vectors, create_graph=create_graph, name="jvp")
    return (
        _unwrap(_detached(outputs, create_graph), single_output),
        _unwrap(_detached(products, create_graph), single_output),
    )


def _rows(
    output: Any, inputs: tuple[Any, ...], create_graph: bool, strict: bool
) -> list[tuple[Any, ...]]:
    """The gradient of every element of `output`."""
    if output.numel() == 0:
        return []
    flat = output.reshape(-1)
    return [
        _gradients(
            (flat[i],),
            inputs,
            None,
            create_graph=create_graph,
            retain_graph=True,
            strict=strict,
            name="jacobian",
        )
        for i in range(flat.numel())
    ]


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        create_graph: whether the Jacobian can be differentiated.
        strict: raise, instead of giving zeros, where a result does not depend on an input.
        vectorize: all rows, or columns, are computed at once, as by `vmap`.
        strategy: "reverse-mode" (row by row) or "forward-mode" (column by column).

    Returns:
        A tensor of shape [*result shape, *input shape]; a tuple over inputs when `inputs` is a
        tuple; a tuple over results of those when the result is a tuple.

    Example:
        >>> from flambeau.autograd.functional import jacobian
        >>> jacobian(lambda x: x.sum() * x, flambeau.tensor([1., 2.]))
        tensor([[4., 1.],
                [2., 5.]])
    """
    import flambeau

    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(
            f'jacobian: strategy must be "reverse-mode" or "forward-mode", got {brief(strategy)}'
        )
    if vectorize and strict:
        raise RuntimeError(
            "jacobian: strict=True and vectorize=True do not go together: all rows are computed at "
            "once, whether they depend on an input or not"
        )
    if strategy == "forward-mode":
        if vectorize and not (create_graph or strict):
            return _vectorized_columns(func, inputs)
        if create_graph or strict:
            raise NotImplementedError(
                "jacobian: forward-mode supports neither create_graph nor strict"
            )
        return _forward_jacobian(func, inputs)
    with enable_grad():
        single_input, fresh, single_output, outputs = _evaluate(
            func, inputs, create_graph, "jacobian"
        )
        if vectorize:
            blocks_of = _vectorized_rows(outputs, fresh, create_graph)
            results = [_unwrap(_detached(b, create_graph), single_input) for b in blocks_of]
            return _unwrap(tuple(results), single_output)
        results = []
        for output in outputs:
            rows = _rows(output, fresh, create_graph, strict)
            blocks = []
            for i, x in enumerate(fresh):
                shape = tuple(output.shape) + tuple(x.shape)
                if rows:
                    blocks.append(flambeau.stack([row[i] for row in rows]).reshape(shape))
                else:
                    blocks.append(flambeau.zeros(shape, dtype=x.dtype, device=x.device))
            results.append(_unwrap(_detached(tuple(blocks), create_graph), single_input))
    return _unwrap(tuple(results), single_output)


def _vectorized_rows(
    outputs: tuple[Any, ...], inputs: tuple[Any, ...], create_graph: bool
) -> list[tuple[Any, ...]]:
    """The Jacobian of each output by each input, of each all rows at once."""
    from flambeau.autograd import grad

    found = []
    for output in outputs:
        shapes = [tuple(output.shape) + tuple(x.shape) for x in inputs]
        if not output.requires_grad or output.numel() == 0:
            blocks = [x.new_zeros(shape) for x, shape in zip(inputs, shapes, strict=True)]
        else:
            units = output.new_zeros(output.numel(), output.numel()).fill_diagonal_(1)
            rows = grad(
                output,
                inputs,
                units.reshape([output.numel(), *output.shape]),
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
                is_grads_batched=True,
            )
            blocks = [
                x.new_zeros(shape) if row is None else row.reshape(shape)
                for row, x, shape in zip(rows, inputs, shapes, strict=True)
            ]
        found.append(tuple(blocks))
    return found


def _vectorized_columns(func: Callable[..., Any], inputs: Any) -> Any:
    """The same by forward mode."""
    from flambeau.func import jacfwd

    single_input, given = _tuple(inputs, "jacobian: inputs")
    single_output, outputs = True, ()

    def checked(*args: Any) -> Any:
        nonlocal single_output, outputs
        single_output, outputs = _tuple(func(*args), "jacobian: the result of func")
        return outputs

    given = tuple(x.detach() for x in given)
    found = jacfwd(checked, tuple(range(len(given))))(*given)
    results = [_unwrap(tuple(x.detach() for x in row), single_input) for row in found]
    return _unwrap(tuple(results), single_output)


def _forward_jacobian(func: Callable[..., Any], inputs: Any) -> Any:
    """Columns: the tangent of the result for each unit tangent of the inputs."""
    import flambeau
    from flambeau.autograd import forward_ad

    single_input, given = _tuple(inputs, "jacobian: inputs")
    given = tuple(x.detach() for x in given)
    single_output, plain = _tuple(func(*given), "jacobian: the result of func")
    columns: list[list[list[Any]]] = [[[] for _ in given] for _ in plain]
    for i, x in enumerate(given):
        for j in range(x.numel()):
            tangent = flambeau.zeros(x.numel(), dtype=x.dtype, device=x.device)
            tangent[j] = 1
            with forward_ad.dual_level():
                duals = list(given)
                duals[i] = forward_ad.make_dual(x, tangent.reshape(tuple(x.shape)))
                _, outputs = _tuple(func(*duals), "jacobian: the result of func")
                for k, output in enumerate(outputs):
                    column = forward_ad.unpack_dual(output).tangent
                    column = output.detach() * 0 if column is None else column.detach().clone()
                    columns[k][i].append(column.reshape(-1))
    results = []
    for k, output in enumerate(plain):
        blocks = tuple(
            flambeau.stack(columns[k][i], 1).reshape(tuple(output.shape) + tuple(x.shape))
            if columns[k][i]
            else flambeau.zeros(tuple(output.shape) + tuple(x.shape), dtype=output.dtype)
            for i, x in enumerate(given)
        )
        results.append(_unwrap(blocks, single_input))
    return _unwrap(tuple(results), single_output)


def _scalar(func: Callable[..., Any], name: str) -> Callable[..., Any]:
    def checked(*args: Any) -> Any:
        output = func(*args)
        if not isinstance(output, _C.Tensor) or output.numel() != 1:
            raise RuntimeError(f"{name}: func must return a tensor with one element")
        return output.reshape(())

    return checked


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a scalar function.

    Args:
        func: takes tensors, returns a tensor with one element.
        inputs: a tensor or a tuple of them.
        create_graph: whether the Hessian can be differentiated.
        strict: raise, instead of giving zeros, where the result does not depend on an input.
        vectorize: all rows, or columns, of the outer Jacobian are computed at once.
        outer_jacobian_strategy: how the gradient is differentiated, see jacobian().

    Returns:
        A tensor of shape [*input shape, *input shape]; for a tuple of inputs, a tuple of tuples.

    Example:
        >>> from flambeau.autograd.functional import hessian
        >>> hessian(lambda x: x[0] ** 2 * x[1], flambeau.tensor([1., 2.]))
        tensor([[4., 2.],
                [2., 0.]])
    """
    single, _ = _tuple(inputs, "hessian: inputs")
    scalar = _scalar(func, "hessian")

    def gradient(*args: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(x if x.requires_grad else x.requires_grad_() for x in args)
        with enable_grad():
            return _gradients(
                (scalar(*args),), args, None, create_graph=True, strict=strict, name="hessian"
            )

    result = jacobian(
        gradient,
        inputs if isinstance(inputs, tuple) else (inputs,),
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result[0][0] if single else result


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of a vector with the Hessian of a scalar function.

    Args:
        func: takes tensors, returns a tensor with one element.
        inputs: a tensor or a tuple of them.
        v: of the shapes of `inputs`.
        create_graph: whether the product can be differentiated.
        strict: raise, instead of giving zeros, where the result does not depend on an input.

    Returns:
        (func(*inputs), v^T H).

    Example:
        >>> from flambeau.autograd.functional import vhp
        >>> x, v = flambeau.tensor([1., 2.]), flambeau.tensor([1., 10.])
        >>> vhp(lambda x: (x ** 3).sum(), x, v)
        (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        single_input, fresh, _, outputs = _evaluate(
            _scalar(func, "vhp"), inputs, create_graph, "vhp"
        )
        vectors = _vectors(v, fresh, "vhp")
        first = _gradients(outputs, fresh, None, create_graph=True, strict=strict, name="vhp")
        products = _gradients(
            first, fresh, vectors, create_graph=create_graph, strict=strict, name="vhp"
        )
    return (
        _detached(outputs, create_graph)[0],
        _unwrap(_detached(products, create_graph), single_input),
    )


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of the Hessian of a scalar function with a vector: vhp(), H being symmetric.

    Args:
        func, inputs, v, create_graph, strict: as of vhp().

    Returns:
        (func(*inputs), H v).

    Example:
        >>> from flambeau.autograd.functional import hvp
        >>> x, v = flambeau.tensor([1., 2.]), flambeau.tensor([1., 10.])
        >>> hvp(lambda x: (x ** 3).sum(), x, v)
        (tensor(9.), tensor([  6., 120.]))
    """
    return vhp(func, inputs, v, create_graph, strict)
