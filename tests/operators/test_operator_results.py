"""Every operator against its NumPy reference, in every form that it can be called in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import (
    call,
    flat_tensors,
    is_reachable,
    library_values,
    outputs,
    primary_form,
    to_array,
    to_tensor,
)
from operator_cases import (
    Case,
    NoReferenceError,
    Values,
    arrays,
    cases,
    expected,
    is_random,
    property_holds,
    result_names,
)
from operator_compare import difference, floating, tolerance

import flambeau
from flambeau import Tensor
from flambeau.codegen.model import Operator
from flambeau.codegen.plan.python_signature import Form, forms

COMPARED = [c for c in cases() if is_reachable(c.operator) and not is_random(c.operator)]


def wanted(case: Case, values: Values) -> list[Any] | None:
    """NumPy's results; None where an operator declares properties instead."""
    try:
        return expected(case.operator, values)
    except NoReferenceError:
        if case.operator.test.reference is not None:
            raise
        if not case.operator.test.properties:
            pytest.skip("declares neither a reference nor properties")
        return None


def check(case: Case, values: Values, results: dict[str, Any], how: str) -> None:
    """The results are NumPy's, and have the declared properties."""
    operator = case.operator
    target = wanted(case, values)
    if target is not None:
        found = list(results.values())
        wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
        assert wrong is None, f"{operator.full_name} as {how}: {wrong}"
    as_arrays = {
        name: [to_array(v) for v in value] if isinstance(value, list | tuple) else to_array(value)
        for name, value in results.items()
    }
    for text in operator.test.properties:
        holds = property_holds(operator, text, values, as_arrays)
        assert holds, f"{operator.full_name} as {how}: not {text}"


@pytest.mark.parametrize("case", COMPARED, ids=str)
def test_reference(case: Case) -> None:
    values = case.values()
    given = library_values(case.operator, values)
    before = {id(t): to_array(t) for t in _tensors(given)}
    results = outputs(case.operator, call(case.operator, given), given)
    form = primary_form(case.operator)
    check(case, values, results, form.value if form else "")
    mutable = {a.name for a in case.operator.signature.arguments if a.type.mutable}
    for name, value in given.items():
        for tensor in _tensors({name: value}):
            same = np.array_equal(before[id(tensor)], to_array(tensor), equal_nan=True)
            assert same or name in mutable, f"{case.operator.full_name} wrote to '{name}'"


@pytest.mark.parametrize("case", COMPARED, ids=str)
def test_keywords(case: Case) -> None:
    """Arguments given by name mean the same."""
    form = primary_form(case.operator)
    if form is Form.LIST:
        pytest.skip("lists are always given by name")
    values = case.values()
    given = library_values(case.operator, values)
    returned = call(case.operator, given, form, by_keyword=True)
    check(case, values, outputs(case.operator, returned, given), "a call by keyword")


@pytest.mark.parametrize(
    "case",
    [c for c in COMPARED if {Form.FUNCTION, Form.METHOD} <= set(forms(c.operator))],
    ids=str,
)
def test_method(case: Case) -> None:
    values = case.values()
    given = library_values(case.operator, values)
    returned = call(case.operator, given, Form.METHOD)
    check(case, values, outputs(case.operator, returned, given), "a method")


@pytest.mark.parametrize(
    ("case", "alias", "form"),
    [
        (c, alias, form)
        for c in COMPARED
        for alias in c.operator.aliases
        for form in forms(c.operator)
    ],
    ids=str,
)
def test_alias(case: Case, alias: str, form: Form) -> None:
    """A further name means the operator that declares it, in every form."""
    operator = case.operator
    values = case.values()
    given = library_values(operator, values)
    if form.is_inplace and not _can_write(case, given, call(operator, given)):
        pytest.skip("the result does not fit into the first tensor")
    returned = call(operator, given, form, alias=alias)
    check(case, values, outputs(operator, returned, given), f"{alias}, {form.value}")


def _first(operator: Operator) -> str:
    return next(a.name for a in operator.signature.arguments if a.type.is_tensor)


def _can_write(case: Case, values: Values, result: Tensor) -> bool:
    """Whether the result fits into the first tensor."""
    target = values.get(_first(case.operator))
    return (
        isinstance(target, Tensor)
        and target.shape == result.shape
        and flambeau.can_cast(result.dtype, target.dtype)
    )


@pytest.mark.parametrize("case", [c for c in COMPARED if "inplace" in c.operator.variants], ids=str)
@pytest.mark.parametrize("form", [Form.INPLACE_FUNCTION, Form.INPLACE_METHOD], ids=str)
def test_inplace(case: Case, form: Form) -> None:
    if form not in forms(case.operator):
        pytest.skip("has no such form")
    values = case.values()
    given = library_values(case.operator, values)
    plain = call(case.operator, given)
    if not _can_write(case, given, plain):
        with pytest.raises((RuntimeError, TypeError), match=r"\w+(\(\))?: "):
            call(case.operator, given, form)
        return
    target = given[_first(case.operator)]
    version = target._version
    returned = call(case.operator, given, form)
    assert returned is target
    assert target._version > version, "the version counter did not move"
    check(case, values, {result_names(case.operator)[0]: target}, form.value)


@pytest.mark.parametrize("case", [c for c in COMPARED if "out" in c.operator.variants], ids=str)
def test_out(case: Case) -> None:
    values = case.values()
    given = library_values(case.operator, values)
    plain = call(case.operator, given)
    name = result_names(case.operator)[0]
    empty = flambeau.empty(0, dtype=plain.dtype)
    assert call(case.operator, given, Form.FUNCTION, out=empty) is empty
    check(case, values, {name: empty}, "out= of an empty tensor")
    # Written through a view: every other element of a larger tensor, whose rest must stay.
    shape = tuple(plain.shape)
    base = flambeau.full([2 * s for s in shape], 7, dtype=flambeau.float64).to(plain.dtype)
    view = base[tuple(slice(None, None, 2) for _ in shape)] if shape else base
    call(case.operator, given, Form.FUNCTION, out=view)
    check(case, values, {name: view}, "out= of a strided view")
    if shape and plain.numel():
        rest = to_array(base)[tuple(slice(1, None, 2) for _ in shape)]
        sevens = np.full_like(rest, 7)
        assert np.array_equal(rest, sevens), f"{case.operator.name}: out= wrote beside the view"


@pytest.mark.parametrize(
    "case",
    [c for c in COMPARED if any(a.type.or_scalar for a in c.operator.signature.arguments)],
    ids=str,
)
@pytest.mark.parametrize("number", [2, 2.5, True])
def test_numbers(case: Case, number: float) -> None:
    """A Python number where a tensor may stand."""
    operator = case.operator
    values = case.values()
    for argument in operator.signature.arguments:
        if argument.type.or_scalar and argument.name in values:
            values[argument.name] = number
    form = primary_form(operator)
    if form is not None and form.is_method:
        pytest.skip("numbers have no methods")
    given = library_values(operator, values)
    try:
        target = expected(operator, values)
    except NoReferenceError:
        pytest.skip("no reference for numbers")
    try:
        returned = call(operator, given)
    except RuntimeError as error:
        # Operators of integers refuse floats, with a word about dtypes.
        assert "dtype" in str(error) or "integ" in str(error), error
        return
    found = list(outputs(operator, returned, given).values())
    wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
    assert wrong is None, f"{operator.full_name} with {number!r}: {wrong}"


@pytest.mark.parametrize(
    "case",
    [
        c
        for c in COMPARED
        if sum(a.type.is_tensor and not a.type.mutable for a in c.operator.tensor_arguments) > 1
        and c.operator.signature.visible_results
    ],
    ids=str,
)
def test_shared_input(case: Case) -> None:
    """One tensor given for two arguments."""
    operator = case.operator
    values = case.values()
    shaped = [(a.name, v) for a, v in arrays(operator, values) if a.type.is_tensor]
    if len(shaped) < 2 or shaped[0][1].shape != shaped[1][1].shape:
        pytest.skip("the shapes differ")
    if shaped[0][1].dtype != shaped[1][1].dtype:
        pytest.skip("the dtypes differ")
    (first, array), (second, _) = shaped[:2]
    values[second] = array
    given = library_values(operator, values)
    given[second] = given[first]
    found = list(outputs(operator, call(operator, given), given).values())
    try:
        target = expected(operator, values)
    except NoReferenceError:
        pytest.skip("no reference")
    wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
    assert wrong is None, f"{operator.full_name} with one tensor twice: {wrong}"
    if "inplace" in operator.variants and to_tensor(array).shape == found[0].shape:
        if not _can_write(case, given, found[0]):
            return
        call(operator, given, Form.INPLACE_FUNCTION)
        found = [given[first]]
        wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
        assert wrong is None, f"{operator.full_name}_ with itself: {wrong}"


def _tensors(values: Values) -> list[Tensor]:
    return [t for t in flat_tensors(values) if isinstance(t, Tensor)]
