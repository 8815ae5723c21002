"""Trying whether a custom operator does what it was registered for: `library.opcheck`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._custom_op import CustomOpDef, find_op
from flambeau._custom_overload import CustomOverload
from flambeau.utils._pytree import tree_leaves, tree_map

__all__ = ["OpCheckError", "opcheck"]

_SUCCESS = "SUCCESS"


class OpCheckError(Exception):
    """What `opcheck` found.

    Example:
        >>> from flambeau.library import OpCheckError, custom_op, opcheck
        >>> @custom_op("examples::same", mutates_args=())
        ... def same(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x
        >>> try:
        ...     opcheck(same, (flambeau.ones(2),))
        ... except OpCheckError as error:
        ...     print(error)
        test_schema: examples::same: a result shares memory with the argument 'x'; return a clone
    """


def opcheck(
    op: CustomOpDef | CustomOverload | str,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Tries a custom operator on arguments.

    * test_schema: it changes the arguments that it says it does, no others, and its results share
      no memory with them.
    * test_autograd_registration: where an argument requires grad, its results have gradients.
    * test_faketensor: on the device `meta`, results have the shapes, strides and dtypes of those
      that are computed.
    * test_aot_dispatch_dynamic: called again, it gives the same results, and the same gradients.

    Whether gradients are right is for `flambeau.autograd.gradcheck` to say.

    Args:
        op: the operator.
        args, kwargs: what it is called with.
        test_utils: which of these are tried.
        raise_exception: whether what is found is raised, or returned.
        atol, rtol: by which results of two calls may differ; None: by dtype.

    Returns:
        "SUCCESS" of each, or what was found.

    Raises:
        OpCheckError: something was found.
        ValueError: something else is to be tried.

    Example:
        >>> @flambeau.library.custom_op("examples::doubled", mutates_args=())
        ... def doubled(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return 2 * x
        >>> _ = flambeau.library.register_fake("examples::doubled", flambeau.empty_like)
        >>> flambeau.library.opcheck(doubled, (flambeau.ones(2),), test_utils="test_faketensor")
        {'test_faketensor': 'SUCCESS'}
    """
    tried = find_op(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in _TESTS]
    if unknown:
        raise ValueError(f"opcheck(): unknown test {unknown[0]!r}; there are {', '.join(_TESTS)}")
    results: dict[str, str] = {}
    for name in names:
        copies, keywords = tree_map(_own, (list(args), dict(kwargs or {})))
        try:
            _TESTS[name](tried, copies, keywords, {"atol": atol, "rtol": rtol})
            results[name] = _SUCCESS
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"{name}: {error}") from error
            results[name] = str(error)
    return results


def _own(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def _bound(op: CustomOpDef, args: Any, kwargs: Any) -> list[tuple[str, Tensor]]:
    return op.schema.tensors(op.schema.bind(op.name, tuple(args), kwargs))


def _schema(op: CustomOpDef, args: Any, kwargs: Any, tolerances: Any) -> None:
    tensors = _bound(op, args, kwargs)
    before = [tensor.detach().clone() for _, tensor in tensors]
    with flambeau.no_grad():
        op(*args, **kwargs)
    for (name, tensor), old in zip(tensors, before, strict=True):
        if name not in op.schema.mutated and not _is_same(tensor.detach(), old):
            raise AssertionError(
                f"{op.name}: the kernel changed the argument '{name}', which mutates_args does not "
                "name"
            )


def _is_same(a: Tensor, b: Tensor) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _registration(op: CustomOpDef, args: Any, kwargs: Any, tolerances: Any) -> None:
    if not any(tensor.requires_grad for _, tensor in _bound(op, args, kwargs)):
        return
    results = [r for r in tree_leaves(op(*args, **kwargs)) if isinstance(r, Tensor)]
    found = [r for r in results if r.is_floating_point() or r.is_complex()]
    if found and not any(r.requires_grad for r in found):
        raise AssertionError(
            f"{op.name}: an argument requires grad and no result does; use register_autograd"
        )
    has_gradient = op._derivative or op._above is not None or op._composed is not None
    if found and not has_gradient:
        raise AssertionError(f"{op.name}: no gradient is known; use register_autograd")


def _fake(op: CustomOpDef, args: Any, kwargs: Any, tolerances: Any) -> None:
    def without_elements(value: Any) -> Any:
        return value.detach().to("meta") if isinstance(value, Tensor) else value

    metas, keywords = tree_map(without_elements, (args, kwargs))
    with flambeau.no_grad():
        told = op(*metas, **keywords)
        computed = op(*args, **kwargs)
    pairs = zip(tree_leaves(told), tree_leaves(computed), strict=True)
    for number, (fake, real) in enumerate(pairs):
        if not isinstance(real, Tensor):
            continue
        for what in ("shape", "dtype", "stride"):
            mine, theirs = getattr(fake, what), getattr(real, what)
            mine, theirs = (mine(), theirs()) if what == "stride" else (mine, theirs)
            if mine != theirs:
                raise AssertionError(
                    f"{op.name}: result {number} has the {what} {theirs}, and register_fake says "
                    f"{mine}"
                )


def _again(op: CustomOpDef, args: Any, kwargs: Any, tolerances: Any) -> None:
    from flambeau.testing import assert_close

    runs = []
    for _ in range(2):
        copies, keywords = tree_map(_own, (args, kwargs))
        results = op(*copies, **keywords)
        inputs = [t for _, t in _bound(op, copies, keywords)]
        recorded = [r for r in tree_leaves(results) if isinstance(r, Tensor) and r.requires_grad]
        if recorded:
            flambeau.autograd.backward(recorded, [flambeau.ones_like(r) for r in recorded])
        runs.append((results, [t.detach() for t in inputs], [t.grad for t in inputs]))
    first, second = (tree_leaves(run) for run in runs)
    kept = [(a, b) for a, b in zip(first, second, strict=True) if isinstance(a, Tensor)]
    for a, b in kept:
        assert_close(a.detach(), b.detach(), equal_nan=True, **tolerances)


_TESTS: dict[str, Callable[[CustomOpDef, Any, Any, Any], None]] = {
    "test_schema": _schema,
    "test_autograd_registration": _registration,
    "test_faketensor": _fake,
    "test_aot_dispatch_static": _again,
    "test_aot_dispatch_dynamic": _again,
}
