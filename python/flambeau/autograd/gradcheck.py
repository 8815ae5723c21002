"""Checking derivatives against finite differences.

A tangent of the inputs and a cotangent of the outputs pick one number out of the Jacobian,
u^T J v. The full check goes through all unit vectors, the fast one through random ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from flambeau import _C
from flambeau.autograd import forward_ad
from flambeau.autograd.grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative disagrees with finite differences.

    Example:
        >>> from flambeau.autograd import GradcheckError, gradcheck
        >>> class Wrong(flambeau.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad
        >>> x = flambeau.ones(1, dtype=flambeau.float64, requires_grad=True)
        >>> try:
        ...     gradcheck(Wrong.apply, x)
        ... except GradcheckError:
        ...     print("the derivative is wrong")
        the derivative is wrong
    """


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _tensors(value: Any) -> list[Any]:
    return [x for x in _as_tuple(value) if isinstance(x, _C.Tensor)]


def _differentiable(tensors: Sequence[Any]) -> list[Any]:
    return [x for x in tensors if x.is_floating_point() or x.is_complex()]


def _flat(tensor: Any) -> list[complex]:
    """All elements, as complex numbers: both parts of a complex element are coordinates."""
    values = tensor.detach().reshape(-1).tolist()
    return [complex(v) for v in values]


def _coordinates(tensor: Any) -> list[tuple[int, complex]]:
    """Directions: (element, step); complex elements have two."""
    steps = (1 + 0j, 1j) if tensor.is_complex() else (1 + 0j,)
    return [(i, step) for i in range(tensor.numel()) for step in steps]


def _filled(like: Any, values: Sequence[complex]) -> Any:
    """A tensor like `like`, without history, of the given elements."""
    import flambeau

    items = list(values) if like.is_complex() else [v.real for v in values]
    made = flambeau.tensor(items, dtype=like.dtype, device=like.device)
    return made.reshape(tuple(like.shape))


def _inner(a: Sequence[complex], b: Sequence[complex]) -> float:
    """The real inner product: gradients of real losses pair with steps this way."""
    return sum(x.real * y.real + x.imag * y.imag for x, y in zip(a, b, strict=True))


class _Problem:
    """The function, its inputs, and its differentiable results."""

    def __init__(self, func: Callable[..., Any], inputs: Any) -> None:
        self.func = func
        self.inputs = _as_tuple(inputs)
        self.wanted = [
            i for i, x in enumerate(self.inputs) if isinstance(x, _C.Tensor) and x.requires_grad
        ]
        if not self.wanted:
            raise ValueError("gradcheck: at least one input must be a tensor that requires grad")
        for i in self.wanted:
            if self.inputs[i].dtype not in (_double(), _complex_double()):
                raise ValueError(
                    f"gradcheck: input {i} has dtype {self.inputs[i].dtype}; finite differences "
                    "need float64 or complex128"
                )

    def outputs(self) -> list[Any]:
        return _differentiable(_tensors(self.func(*self.inputs)))

    def values(self) -> list[list[complex]]:
        with no_grad():
            return [_flat(x) for x in self.outputs()]

    def shifted(self, index: int, direction: Sequence[complex], size: float) -> list[list[complex]]:
        """Values with input `index` moved along `direction`; the input is put back."""
        data = self.inputs[index].detach()
        saved = data.clone()
        moved = [v + size * d for v, d in zip(_flat(saved), direction, strict=True)]
        data.copy_(_filled(saved, moved))
        try:
            return self.values()
        finally:
            data.copy_(saved)

    def numerical(
        self, index: int, direction: Sequence[complex], eps: float
    ) -> list[list[complex]]:
        above = self.shifted(index, direction, eps)
        below = self.shifted(index, direction, -eps)
        return [
            [(a - b) / (2 * eps) for a, b in zip(high, low, strict=True)]
            for high, low in zip(above, below, strict=True)
        ]


def _double() -> Any:
    import flambeau

    return flambeau.float64


def _complex_double() -> Any:
    import flambeau

    return flambeau.complex128


def _unit(count: int, position: int, step: complex) -> list[complex]:
    values = [0j] * count
    values[position] = step
    return values


def _random_direction(tensor: Any, source: random.Random) -> list[complex]:
    values = [
        complex(source.gauss(0, 1), source.gauss(0, 1) if tensor.is_complex() else 0)
        for _ in range(tensor.numel())
    ]
    norm = math.sqrt(_inner(values, values)) or 1.0
    return [v / norm for v in values]


def _directions(tensor: Any, fast: bool, source: random.Random) -> list[list[complex]]:
    if fast:
        return [_random_direction(tensor, source)] if tensor.numel() else []
    return [_unit(tensor.numel(), i, step) for i, step in _coordinates(tensor)]


def _close(a: float, b: float, atol: float, rtol: float) -> bool:
    return math.isclose(a, b, rel_tol=0, abs_tol=atol + rtol * abs(b))


def _reverse(
    problem: _Problem, output: int, cotangent: Sequence[complex]
) -> list[list[complex] | None]:
    with enable_grad():
        outputs = problem.outputs()
        wanted = [problem.inputs[i] for i in problem.wanted]
        if not outputs[output].requires_grad:
            return [None] * len(wanted)
        gradients = _C._autograd.run_backward(
            [outputs[output]],
            (_filled(outputs[output], cotangent),),
            False,
            False,
            wanted,
            True,
            False,
        )
    for x, g in zip(wanted, gradients, strict=True):
        if g is not None and (tuple(g.shape) != tuple(x.shape) or g.dtype != x.dtype):
            raise GradcheckError(
                f"a gradient has shape {tuple(g.shape)} and dtype {g.dtype}, the input "
                f"{tuple(x.shape)} and {x.dtype}"
            )
    return [None if g is None else _flat(g) for g in gradients]


def _forward(problem: _Problem, index: int, direction: Sequence[complex]) -> list[list[complex]]:
    with no_grad(), forward_ad.dual_level():
        inputs = list(problem.inputs)
        inputs[index] = forward_ad.make_dual(
            inputs[index].detach(), _filled(inputs[index], direction)
        )
        outputs = _differentiable(_tensors(problem.func(*inputs)))
        tangents = [forward_ad.unpack_dual(x).tangent for x in outputs]
        return [
            [0j] * x.numel() if t is None else _flat(t)
            for x, t in zip(outputs, tangents, strict=True)
        ]


def _compare(
    problem: _Problem,
    eps: float,
    atol: float,
    rtol: float,
    check_forward_ad: bool,
    check_backward_ad: bool,
    fast: bool,
) -> None:
    source = random.Random(0)
    with enable_grad():
        outputs = problem.outputs()
    cotangents = [_directions(x, fast, source) for x in outputs]
    backward = [
        [_reverse(problem, k, u) for u in cotangents[k]] if check_backward_ad else []
        for k in range(len(outputs))
    ]
    for position, index in enumerate(problem.wanted):
        for v in _directions(problem.inputs[index], fast, source):
            expected = problem.numerical(index, v, eps)
            tangents = _forward(problem, index, v) if check_forward_ad else []
            for k, us in enumerate(cotangents):
                for row, u in enumerate(us):
                    wanted = _inner(u, expected[k])
                    seen = []
                    if check_backward_ad:
                        gradient = backward[k][row][position]
                        seen.append(("backward", 0.0 if gradient is None else _inner(gradient, v)))
                    if check_forward_ad:
                        seen.append(("forward", _inner(u, tangents[k])))
                    for mode, value in seen:
                        if not _close(value, wanted, atol, rtol):
                            raise GradcheckError(
                                f"{mode} mode disagrees with finite differences for result {k} "
                                f"(cotangent {row}) and input {index}: got {value:.10g}, finite "
                                f"differences give {wanted:.10g} (atol={atol}, rtol={rtol}, "
                                f"eps={eps})"
                            )


def _check_determinism(problem: _Problem, nondet_tol: float) -> None:
    with enable_grad():
        outputs = problem.outputs()
    for k, output in enumerate(outputs):
        ones = [1 + 0j] * output.numel()
        first, second = _reverse(problem, k, ones), _reverse(problem, k, ones)
        for a, b in zip(first, second, strict=True):
            if a is not None and b is not None:
                difference = max((abs(x - y) for x, y in zip(a, b, strict=True)), default=0.0)
                if difference > nondet_tol:
                    raise GradcheckError(
                        f"backward is not deterministic for result {k}: two runs differ by "
                        f"{difference:.3g} (nondet_tol={nondet_tol})"
                    )


def _check_undefined(problem: _Problem) -> None:
    """A gradient that never flows must count as zero, not fail."""
    with enable_grad():
        outputs = problem.outputs()
    live = [x for x in outputs if x.requires_grad]
    if len(live) < 2:
        return
    wanted = [problem.inputs[i] for i in problem.wanted]
    for output in live:
        _C._autograd.run_backward(
            [output], (output.detach() * 0,), True, False, wanted, True, False
        )


_BATCH = 2  # of directions, in checks of batches


def _check_batched(problem: _Problem, atol: float, rtol: float) -> None:
    """Gradients of several cotangents in one go are those of each."""
    import flambeau

    with enable_grad():
        outputs = problem.outputs()
    wanted = [problem.inputs[i] for i in problem.wanted]
    for k, output in enumerate(outputs):
        if not output.requires_grad:
            continue
        batch = flambeau.randn((_BATCH, *output.shape), dtype=output.dtype, device=output.device)
        options = {"retain_graph": True, "allow_unused": True}
        try:
            together = flambeau.autograd.grad(
                output, wanted, batch, is_grads_batched=True, **options
            )
        except RuntimeError as error:
            raise GradcheckError(
                f"backward of result {k} cannot be computed for a batch of cotangents: {error}"
            ) from error
        for row in range(_BATCH):
            alone = flambeau.autograd.grad(output, wanted, batch[row], **options)
            _compare_batched(f"backward of result {k}", row, together, alone, atol, rtol)


def _check_batched_forward(problem: _Problem, atol: float, rtol: float) -> None:
    """Tangents of several directions in one go are those of each."""
    import flambeau

    for index in problem.wanted:
        x = problem.inputs[index].detach()
        batch = flambeau.randn((_BATCH, *x.shape), dtype=x.dtype, device=x.device)

        def tangents(direction: Any, index: int = index, x: Any = x) -> tuple[Any, ...]:
            def of(value: Any) -> tuple[Any, ...]:
                inputs = [i.detach() if isinstance(i, _C.Tensor) else i for i in problem.inputs]
                inputs[index] = value
                return tuple(_differentiable(_tensors(problem.func(*inputs))))

            found: tuple[Any, ...] = flambeau.func.jvp(of, (x,), (direction,))[1]
            return found

        try:
            together = flambeau.func.vmap(tangents)(batch)
        except RuntimeError as error:
            raise GradcheckError(
                f"forward mode of input {index} cannot be computed for a batch: {error}"
            ) from error
        for row in range(_BATCH):
            what = f"forward mode of input {index}"
            _compare_batched(what, row, together, tangents(batch[row]), atol, rtol)


def _compare_batched(
    what: str, row: int, together: Any, alone: Any, atol: float, rtol: float
) -> None:
    for i, (batched, expected) in enumerate(zip(together, alone, strict=True)):
        if batched is None and expected is None:
            continue
        missing = batched is None or expected is None
        if missing or not batched[row].allclose(expected, atol=atol, rtol=rtol):
            raise GradcheckError(
                f"{what}: a batch gives something else than its row {row} alone, in place {i}"
            )


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares derivatives of `func` with finite differences.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple; those that require grad (float64 or complex128) are checked.
        eps: step of the central differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise GradcheckError on disagreement; otherwise return False.
        nondet_tol: how much two runs of backward may differ.
        check_undefined_grad: also let gradients of only some results flow.
        check_grad_dtypes: accepted; dtypes of gradients are always checked.
        check_batched_grad: also compute gradients of several cotangents in one go.
        check_batched_forward_grad: the same of forward mode.
        check_forward_ad: also check forward mode.
        check_backward_ad: check reverse mode.
        fast_mode: one random direction per input and result instead of all unit vectors.
        masked: not supported.

    Returns:
        True when all agree.

    Example:
        >>> from flambeau.autograd import gradcheck
        >>> x = flambeau.randn(3, dtype=flambeau.float64, requires_grad=True)
        >>> gradcheck(lambda x: (x ** 2).sum(), x)
        True
    """
    if masked:
        raise NotImplementedError("gradcheck: masked must be None or False: it is not supported")
    if not (check_forward_ad or check_backward_ad):
        raise ValueError("gradcheck: at least one of the two modes must be checked")
    problem = _Problem(func, inputs)
    try:
        _compare(problem, eps, atol, rtol, check_forward_ad, check_backward_ad, fast_mode)
        if check_backward_ad:
            _check_determinism(problem, nondet_tol)
            if check_undefined_grad:
                _check_undefined(problem)
            if check_batched_grad:
                _check_batched(problem, atol, rtol)
        if check_batched_forward_grad:
            _check_batched_forward(problem, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares second derivatives: gradcheck() of the function that computes the gradients.

    Args:
        func: as for gradcheck().
        inputs: as for gradcheck().
        grad_outputs: gradients of the results to start from; default: random.
        gen_non_contig_grad_outputs: make those default gradients non-contiguous.
        check_fwd_over_rev: check forward mode over reverse mode.
        check_rev_over_rev: check reverse mode over reverse mode.

    The other arguments are those of gradcheck().

    Example:
        >>> x = flambeau.randn(3, dtype=flambeau.float64, requires_grad=True)
        >>> flambeau.autograd.gradgradcheck(lambda x: (x ** 3).sum(), x)
        True
    """
    import flambeau

    problem = _Problem(func, inputs)
    with enable_grad():
        outputs = [x for x in problem.outputs() if x.requires_grad]
    if grad_outputs is None:
        source = random.Random(1)
        made = []
        for x in outputs:
            values = [complex(source.gauss(0, 1), source.gauss(0, 1)) for _ in range(x.numel())]
            gradient = _filled(x, values)
            if gen_non_contig_grad_outputs and x.numel():
                gradient = flambeau.stack([gradient, gradient], -1)[..., 0]
            made.append(gradient.requires_grad_())
        grad_outputs = tuple(made)
    else:
        grad_outputs = _as_tuple(grad_outputs)
    count = len(problem.inputs)

    def gradients(*args: Any) -> Any:
        given, cotangents = list(args[:count]), args[count:]
        with enable_grad():
            # In forward mode the inputs are detached, and must be asked for all the same.
            for i in problem.wanted:
                if not given[i].requires_grad:
                    given[i] = given[i].requires_grad_()
            results = [x for x in _differentiable(_tensors(func(*given))) if x.requires_grad]
            found = _C._autograd.run_backward(
                results,
                tuple(cotangents),
                True,
                True,
                [given[i] for i in problem.wanted],
                True,
                False,
            )
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        (*problem.inputs, *grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )
