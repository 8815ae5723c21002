# mypy: implicit-reexport
"""Automatic differentiation: gradients of scalars, products with Jacobians, custom operators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from flambeau import _C, _lazy
from flambeau._C import _overrides
from flambeau._values import elements
from flambeau.autograd import forward_ad, functional, graph
from flambeau.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from flambeau.autograd.function import Function
from flambeau.autograd.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from flambeau.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

__getattr__, __dir__ = _lazy.submodules(globals(), ("profiler",))


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _C.Tensor)

    def __getattr__(cls, name: str) -> Any:
        """A method of tensors: Variable.backward(x)."""
        from flambeau._typed_tensors import method_of_tensors

        return method_of_tensors(cls.__name__, name)


class Variable(metaclass=_VariableType):
    """The former name of a tensor that can require grad: makes one that shares `data`.

    Args:
        data: a tensor.
        requires_grad: whether operations on it are recorded.
        volatile: accepted, as its former meaning is `no_grad`'s.

    Example:
        >>> flambeau.autograd.Variable(flambeau.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: _C.Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warnings.warn(
                "Variable: volatile has no effect; run the operations under no_grad()", stacklevel=2
            )
        return data.detach().requires_grad_(requires_grad)


Tensors = _C.Tensor | Sequence[_C.Tensor]
OptionalTensors = _C.Tensor | Sequence[_C.Tensor | None] | None


def _as_tuple(op: str, value: Any) -> tuple[Any, ...]:
    return (value,) if value is None or isinstance(value, _C.Tensor) else elements(op, value)


def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: OptionalTensors = None,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of `tensors` to the .grad of the leaves.

    Args:
        tensors: what is differentiated.
        grad_tensors: one gradient per tensor, of its shape; None (or an element None) stands for
            1 and needs a scalar.
        retain_graph: keep what was saved for another backward; default: `create_graph`.
        create_graph: record the computation of the gradients, for higher derivatives.
        grad_variables: the former name of `grad_tensors`.
        inputs: accumulate into these only.

    Raises:
        RuntimeError: a tensor does not require grad, a gradient does not fit, or a saved tensor
            was freed or modified in place.

    Example:
        >>> x = flambeau.tensor([1., 2.], requires_grad=True)
        >>> flambeau.autograd.backward([(x ** 2).sum(), x.sum()])
        >>> x.grad
        tensor([3., 5.])
    """
    tensors = _as_tuple("backward", tensors)
    if _overrides.has_torch_function(tensors):
        named = {
            "grad_tensors": grad_tensors,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }
        _overrides.handle_torch_function(backward, tensors, (tensors,), named)
        return
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("backward: grad_variables is the former name of grad_tensors")
        grad_tensors = grad_variables
    gradients = None if grad_tensors is None else _as_tuple("backward", grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    _C._autograd.run_backward(tensors, gradients, keep, create_graph, inputs, True, True)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Gradients of the sum of `outputs` with respect to `inputs`; .grad stays as it is.

    Args:
        outputs: what is differentiated.
        inputs: with respect to what.
        grad_outputs: one gradient per output, of its shape; None: 1, for scalars.
        retain_graph: keep what was saved for another backward; default: `create_graph`.
        create_graph: record the computation of the gradients, for higher derivatives.
        only_inputs: True is the only value.
        allow_unused: give None for an input that the outputs do not depend on, instead of raising;
            default: `materialize_grads`.
        is_grads_batched: the first dimension of `grad_outputs` counts gradients, which are
            computed at once as by `vmap`; results get that dimension.
        materialize_grads: give zeros instead of None.

    Returns:
        One gradient per input, in order.

    Example:
        >>> x = flambeau.tensor(3., requires_grad=True)
        >>> (first,) = flambeau.autograd.grad(x ** 3, x, create_graph=True)
        >>> flambeau.autograd.grad(first, x)  # the second derivative, 6 x
        (tensor(18.),)
    """
    outputs, inputs = _as_tuple("grad", outputs), _as_tuple("grad", inputs)
    if grad_outputs is not None:
        grad_outputs = _as_tuple("grad", grad_outputs)
    relevant = (*outputs, *inputs, *(grad_outputs or ()))
    if _overrides.has_torch_function(relevant):
        named = {
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "only_inputs": only_inputs,
            "allow_unused": allow_unused,
            "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        given = (outputs, inputs, grad_outputs)
        return tuple(_overrides.handle_torch_function(grad, relevant, given, named))
    if not only_inputs:
        raise ValueError("grad: only_inputs=False is not supported; use backward()")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True means that unused inputs are allowed")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    options: dict[str, Any] = {
        "retain_graph": retain_graph,
        "create_graph": create_graph,
        "allow_unused": allow_unused,
        "materialize_grads": materialize_grads,
    }
    if is_grads_batched:
        from flambeau.func._batch_gradients import count_of_rows, gradients_of_rows
        from flambeau.func._batching import level_of

        rows = level_of(count_of_rows(grad_outputs), "error")
        found: tuple[Any, ...] = gradients_of_rows(rows, outputs, inputs, grad_outputs, options)
        return found
    return run_gradients(outputs, inputs, grad_outputs, **options)


def run_gradients(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """`grad`, of tensors that nobody takes over; arguments as there, in lists or tuples."""
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    keep = create_graph if retain_graph is None else retain_graph
    results = _C._autograd.run_backward(
        outputs, grad_outputs, keep, create_graph, inputs, allow_unused, False
    )
    if materialize_grads:
        results = tuple(
            x.new_zeros(x.shape) if g is None else g for x, g in zip(inputs, results, strict=True)
        )
    return tuple(results)
