"""Every operator on tensors that lie in memory in unusual ways, and on empty and 0-d ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operator_calls import call, is_reachable, library_values, outputs, to_tensor
from operator_cases import (
    Case,
    NoReferenceError,
    Values,
    cases,
    declarations,
    expected,
    is_random,
    map_arrays,
    operators,
)
from operator_compare import difference, floating, tolerance

import flambeau
from flambeau import Tensor
from flambeau.codegen.model import Argument, Kind, Operator
from flambeau.codegen.plan.documentation import called
from flambeau.codegen.plan.python_signature import Form, forms

SAMPLES = 3  # per operator


def transposed(array: Any) -> Tensor:
    """The same values with the first dim varying fastest."""
    order = tuple(range(array.ndim))[::-1]
    return to_tensor(np.array(array.transpose(order), order="C")).permute(order)


def stepped(array: Any) -> Tensor:
    """Every other element of a larger tensor, from the second on."""
    base = np.zeros([2 * s + 1 for s in array.shape], array.dtype)
    inner = tuple(slice(1, None, 2) for _ in array.shape)
    base[inner] = array
    return to_tensor(base)[inner] if array.ndim else to_tensor(array)


def shifted(array: Any) -> Tensor:
    """Contiguous, but not at the start of its storage, nor aligned."""
    flat = np.concatenate([array.ravel()[:1].repeat(3), array.ravel()])
    return to_tensor(flat)[len(flat) - array.size :].view(array.shape)


def rotated(array: Any) -> Tensor:
    """The last dim varies slowest: neither row- nor column-major."""
    if array.ndim < 2:
        return to_tensor(array)
    moved = np.ascontiguousarray(np.moveaxis(array, -1, 0))
    return to_tensor(moved).permute((*range(1, array.ndim), 0))


LAYOUTS: dict[str, Callable[[Any], Tensor]] = {
    f.__name__: f for f in (transposed, stepped, shifted, rotated)
}
CASES = [
    case
    for case in cases()
    if is_reachable(case.operator) and not is_random(case.operator) and case.index < SAMPLES
]


def is_layout_dependent(operator: Operator) -> bool:
    """Whether the strides are part of what the operator does: views that name strides, or that
    exist for some strides only.
    """
    own = {a.name for a in operator.signature.arguments} & {"stride", "contiguous"}
    packs = any(r.dtype or operator.dtypes.results.get(r.name) for r in operator.signature.results)
    if operator.kind is Kind.COMPOSITE and operator.body is not None:
        # A body that is one view of some strides only.
        return any(
            is_layout_dependent(o)
            for name in called(operator.body)
            for o in declarations().by_name.get(name, ())
            if o.kind is Kind.VIEW and "function" not in o.variants
        )
    return operator.kind is Kind.VIEW and bool(own or packs or "function" not in operator.variants)


def compare(
    operator: Operator, given: Values, values: Values, how: str, form: Form | None = None
) -> None:
    try:
        target = expected(operator, values)
    except NoReferenceError:
        pytest.skip("no reference for these values")
    returned = call(operator, given, form)
    found = list(outputs(operator, returned, given).values())
    wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
    assert wrong is None, f"{operator.full_name} of {how}: {wrong}"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_layout(case: Case, layout: str) -> None:
    if is_layout_dependent(case.operator):
        pytest.skip("the result depends on the strides")
    values = case.values()
    given = library_values(case.operator, values, LAYOUTS[layout])
    compare(case.operator, given, values, f"{layout} tensors")


@pytest.mark.parametrize(
    "case", [c for c in CASES if "inplace" in c.operator.variants and c.index == 0], ids=str
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inplace_layout(case: Case, layout: str) -> None:
    values = case.values()
    given = library_values(case.operator, values, LAYOUTS[layout])
    plain = call(case.operator, given)
    first = given[next(iter(given))]
    if first.shape != plain.shape or not flambeau.can_cast(plain.dtype, first.dtype):
        pytest.skip("the result does not fit into the first argument")
    form = Form.INPLACE_METHOD if Form.INPLACE_METHOD in forms(case.operator) else None
    compare(case.operator, given, values, f"{layout} tensors", form or Form.INPLACE_FUNCTION)


def expanded(argument: Argument, array: Any) -> Any:
    """The first slice in place of all others."""
    if array.ndim == 0 or array.shape[0] == 0 or array.dtype.kind not in "fc":
        return array
    return np.broadcast_to(array[:1], array.shape)


def expand(array: Any) -> Tensor:
    """Strides of 0 where the values repeat."""
    if 0 not in array.strides or array.size == 0:
        return to_tensor(array)
    return to_tensor(array[:1].copy()).expand(array.shape)


POINTWISE = [
    o
    for o in operators()
    if o.kind is Kind.POINTWISE
    and not is_random(o)
    and is_reachable(o)
    and o.test.samples
    and not any(a.type.mutable for a in o.tensor_arguments)
]


@pytest.mark.parametrize("operator", POINTWISE, ids=lambda o: o.full_name)
def test_expanded(operator: Operator) -> None:
    values = map_arrays(operator, Case(operator, 0).values(), expanded)
    compare(operator, library_values(operator, values, expand), values, "expanded tensors")


@pytest.mark.parametrize("operator", POINTWISE, ids=lambda o: o.full_name)
def test_zero_dims(operator: Operator) -> None:
    def first(argument: Argument, array: Any) -> Any:
        return np.asarray(array.flat[0])

    values = map_arrays(operator, Case(operator, 0).values(), first)
    compare(operator, library_values(operator, values), values, "0-d tensors")


@pytest.mark.parametrize("operator", POINTWISE, ids=lambda o: o.full_name)
@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)], ids=str)
def test_empty(operator: Operator, shape: tuple[int, ...]) -> None:
    def nothing(argument: Argument, array: Any) -> Any:
        return np.zeros(shape, array.dtype)

    values = map_arrays(operator, Case(operator, 0).values(), nothing)
    compare(operator, library_values(operator, values), values, "empty tensors")


@pytest.mark.parametrize("operator", POINTWISE, ids=lambda o: o.full_name)
@pytest.mark.parametrize("size", [1, 7, 33, 1031])
def test_sizes(operator: Operator, size: int) -> None:
    """Whole vectors, their remainders, one element: each loop of a kernel is entered."""

    def repeated(argument: Argument, array: Any) -> Any:
        return np.resize(array, size)

    values = map_arrays(operator, Case(operator, 0).values(), repeated)
    compare(operator, library_values(operator, values), values, f"{size} elements")


@pytest.mark.parametrize(
    "operator", [o for o in POINTWISE if "inplace" in o.variants], ids=lambda o: o.full_name
)
def test_overlap(operator: Operator) -> None:
    """Reading and writing memory that overlaps in part acts as if the input had been copied."""
    values = map_arrays(operator, Case(operator, 0).values(), lambda _, array: np.resize(array, 40))
    given = library_values(operator, values)
    names = [n for n, v in given.items() if isinstance(v, Tensor)]
    if len(names) < 2 or given[names[0]].dtype != given[names[1]].dtype:
        pytest.skip("has one tensor only")
    base = values[names[0]].copy()
    tensor = to_tensor(base)
    given = {**given, names[0]: tensor[1:], names[1]: tensor[:-1]}
    values = {**values, names[0]: base[1:], names[1]: base[:-1]}
    for name in names[2:]:
        given[name], values[name] = given[name][1:], values[name][1:]
    plain = call(operator, given)
    if plain.dtype != tensor.dtype:
        pytest.skip("the result does not fit into the first argument")
    compare(operator, given, values, "overlapping memory", Form.INPLACE_FUNCTION)


@pytest.mark.parametrize(
    "operator", [o for o in POINTWISE if "inplace" in o.variants], ids=lambda o: o.full_name
)
def test_writing_to_repeated_memory(operator: Operator) -> None:
    """An expanded tensor cannot be written to."""
    values = map_arrays(operator, Case(operator, 0).values(), expanded)
    given = library_values(operator, values, expand)
    first = given[next(iter(given))]
    plain = call(operator, given)
    if plain.shape != first.shape or first.is_contiguous() or plain.dtype != first.dtype:
        pytest.skip("the first argument cannot be expanded")
    with pytest.raises(RuntimeError, match=operator.name):
        call(operator, given, Form.INPLACE_FUNCTION)
