"""Every operator on tensors that lie in memory in unusual ways, and on empty and 0-d ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operator_calls import call, is_reachable, library_values, outputs, to_array, to_tensor
from operator_cases import (
    Case,
    Values,
    arrays,
    cases,
    expected,
    is_random,
    map_arrays,
    operators,
    views_in_body,
)
from operator_choice import INPLACE, fitting, has_inplace
from operator_compare import difference, floating, tolerance

from flambeau import Tensor
from flambeau.codegen.formula.nodes import Call
from flambeau.codegen.model.entries import Argument, Kind, Operator
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


def channels_last(array: Any) -> Tensor:
    """[batch, channels, ...] with the channels of a pixel next to each other."""
    if array.ndim < 3:
        return to_tensor(array)
    return to_tensor(np.ascontiguousarray(np.moveaxis(array, 1, -1))).movedim(-1, 1)


LAYOUTS: dict[str, Callable[[Any], Tensor]] = {
    f.__name__: f for f in (transposed, stepped, shifted, rotated, channels_last)
}
CASES = [
    case
    for case in cases()
    if is_reachable(case.operator) and not is_random(case.operator) and case.index < SAMPLES
]
WRITTEN = [o for o in INPLACE if is_reachable(o) and not is_random(o)]


def is_layout_dependent(operator: Operator) -> bool:
    """Whether the strides are part of what the operator does: views that name strides, or that
    exist for some strides only; bodies that are one such view, or copy it.
    """
    if isinstance(operator.body, Call):
        return any(is_layout_dependent(view) for view in views_in_body(operator))
    own = {a.name for a in operator.signature.arguments} & {"stride", "contiguous"}
    packs = any(r.dtype or operator.dtypes.results.get(r.name) for r in operator.signature.results)
    return operator.kind is Kind.VIEW and bool(own or packs or "function" not in operator.variants)


def wanted(operator: Operator, values: Values) -> list[Any]:
    """NumPy's results, or what row-major tensors give where properties stand for a reference."""
    if operator.test.reference is not None:
        return expected(operator, values)
    given = library_values(operator, values, lambda a: to_tensor(np.array(a, order="C")))
    results = outputs(operator, call(operator, given), given).values()
    return [[to_array(t) for t in r] if isinstance(r, tuple) else to_array(r) for r in results]


def compare(
    operator: Operator, given: Values, values: Values, how: str, form: Form | None = None
) -> None:
    target = wanted(operator, values)
    returned = call(operator, given, form)
    found = list(outputs(operator, returned, given).values())
    wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
    assert wrong is None, f"{operator.full_name} of {how}: {wrong}"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "case",
    [c for c in CASES if not is_layout_dependent(c.operator) and not c.operator.test.arbitrary],
    ids=str,
)
def test_layout(case: Case, layout: str) -> None:
    values = case.values()
    given = library_values(case.operator, values, LAYOUTS[layout])
    compare(case.operator, given, values, f"{layout} tensors")


@pytest.mark.parametrize(
    "case", [c for o in WRITTEN if not is_layout_dependent(o) for c in fitting(o)], ids=str
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inplace_layout(case: Case, layout: str) -> None:
    values = case.values()
    given = library_values(case.operator, values, LAYOUTS[layout])
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


WRITTEN_POINTWISE = [c for o in POINTWISE if has_inplace(o) for c in fitting(o)]


def _first_two(case: Case) -> list[str]:
    """The names of two tensor arguments whose arrays have one dtype; fewer where there are none."""
    found = [(a.name, v.dtype) for a, v in arrays(case.operator, case.values()) if v.ndim]
    return [name for name, dtype in found[:2] if dtype == found[0][1]]


@pytest.mark.parametrize("case", [c for c in WRITTEN_POINTWISE if len(_first_two(c)) == 2], ids=str)
def test_overlap(case: Case) -> None:
    """Reading and writing memory that overlaps in part acts as if the input had been copied."""
    operator = case.operator
    values = map_arrays(operator, case.values(), lambda _, array: np.resize(array, 40))
    first, second = _first_two(case)
    base = values[second].copy()
    tensor = to_tensor(base)
    given = library_values(operator, values)
    for name in (n for n, v in given.items() if isinstance(v, Tensor)):
        given[name], values[name] = given[name][1:], values[name][1:]
    given |= {first: tensor[1:], second: tensor[:-1]}
    values |= {first: base[1:], second: base[:-1]}
    compare(operator, given, values, "overlapping memory", Form.INPLACE_FUNCTION)


@pytest.mark.parametrize("case", WRITTEN_POINTWISE, ids=str)
def test_writing_to_repeated_memory(case: Case) -> None:
    """An expanded tensor cannot be written to."""
    operator = case.operator
    values = case.values()
    given = library_values(operator, values)
    first = next(n for n, v in given.items() if isinstance(v, Tensor))
    given[first] = given[first][:1].expand(given[first].shape)
    assert 0 in given[first].stride()
    with pytest.raises(RuntimeError, match=rf"{operator.name}.*share memory"):
        call(operator, given, Form.INPLACE_FUNCTION)


def is_formatted(case: Case) -> bool:
    """Whether results of the sample lie as its images do."""
    rule, found = case.operator.shape, {a.name: v for a, v in arrays(case.operator, case.values())}
    names = rule.format_of if rule is not None else ()
    return any(n in found and found[n].ndim >= rule.format_rank for n in names)


@pytest.mark.parametrize("case", [c for c in CASES if is_formatted(c)], ids=str)
def test_format_of_results(case: Case) -> None:
    """Results lie channels-last where the images that they are made of do."""
    given = library_values(case.operator, case.values(), channels_last)
    results = outputs(case.operator, call(case.operator, given), given).values()
    first = next(given[name] for name in case.operator.shape.format_of if name in given)
    rank = max(first.dim(), case.operator.shape.format_rank)
    images = [r for r in results if r.dim() == rank and r.shape[1] > 1]
    assert all(r.movedim(1, -1).is_contiguous() for r in images)
