"""Every operator against its NumPy reference, in every form that it can be called in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import (
    call,
    flat_tensors,
    function_of,
    is_reachable,
    library_values,
    outputs,
    primary_form,
    receiver,
    to_array,
)
from operator_cases import (
    Case,
    NoReferenceError,
    Values,
    cases,
    expected,
    is_random,
    property_holds,
    result_names,
)
from operator_choice import (
    INPLACE,
    fitting,
    has_inplace,
    refuses_number,
    result_fits,
    twins,
)
from operator_compare import difference, floating, tolerance

from flambeau import Tensor
from flambeau.codegen.model.entries import Kind, Operator, Place
from flambeau.codegen.plan.python_signature import Form, forms, places

COMPARED = [c for c in cases() if is_reachable(c.operator) and not is_random(c.operator)]


def wanted(case: Case, values: Values) -> list[Any] | None:
    """NumPy's results; None where an operator declares properties instead."""
    try:
        return expected(case.operator, values)
    except NoReferenceError:
        if case.operator.test.reference is not None or not case.operator.test.properties:
            raise
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


@pytest.mark.parametrize(
    "case", [c for c in COMPARED if primary_form(c.operator) is not Form.LIST], ids=str
)
def test_keywords(case: Case) -> None:
    """Arguments given by name mean the same. (Lists of steps are never given otherwise.)"""
    values = case.values()
    given = library_values(case.operator, values)
    returned = call(case.operator, given, by_keyword=True)
    check(case, values, outputs(case.operator, returned, given), "a call by keyword")


SEVERAL = [
    c for c in COMPARED if len(c.operator.signature.visible_results) > 1 and not c.operator.internal
]


@pytest.mark.parametrize("case", SEVERAL, ids=str)
def test_several_results_have_names_or_are_a_plain_tuple(case: Case) -> None:
    returned = call(case.operator, library_values(case.operator, case.values()))
    fields = getattr(type(returned), "__match_args__", ())
    assert list(fields) == ([] if case.operator.plain_results else result_names(case.operator))
    assert isinstance(returned, tuple)
    assert (type(returned) is tuple) == case.operator.plain_results


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
        if not form.is_inplace or result_fits(c)
    ],
    ids=str,
)
def test_alias(case: Case, alias: str, form: Form) -> None:
    """A further name means the operator that declares it, in every form."""
    operator = case.operator
    values = case.values()
    given = library_values(operator, values)
    returned = call(operator, given, form, alias=alias)
    check(case, values, outputs(operator, returned, given), f"{alias}, {form.value}")


def test_every_inplace_form_is_tested() -> None:
    """Each has a sample whose result fits into its first tensor."""
    compared = {c.operator.full_name for c in COMPARED}
    named = [o for o in INPLACE if o.full_name in compared]
    assert not [o.full_name for o in named if not fitting(o)]


@pytest.mark.parametrize(
    ("case", "form", "place"),
    [
        (c, form, place)
        for c in COMPARED
        for form in forms(c.operator)
        if not form.is_method and form is not Form.LIST
        if not form.is_inplace or result_fits(c)
        for place in places(c.operator, form)[1:]
    ],
    ids=str,
)
def test_further_place(case: Case, form: Form, place: Place) -> None:
    """A function does the same in every namespace that has it, under every name."""
    values = case.values()
    given = library_values(case.operator, values)
    returned = call(case.operator, given, form, place=place)
    check(case, values, outputs(case.operator, returned, given), str(place))


@pytest.mark.parametrize(
    "case", [c for c in COMPARED if any(a.spread for a in c.operator.signature.arguments)], ids=str
)
def test_tensors_or_a_list_of_them(case: Case) -> None:
    """f(a, b) is f([a, b])."""
    values = case.values()
    given = library_values(case.operator, values)
    (name,) = (a.name for a in case.operator.signature.arguments if a.spread)
    rest = {n: v for n, v in given.items() if n != name}
    function = function_of(case.operator, Form.FUNCTION)
    for returned in (
        function(*given[name], **rest),
        function(given[name], **rest),
        function(tuple(given[name]), **rest),
        function(**given),
    ):
        check(case, values, outputs(case.operator, returned, given), "a list")


@pytest.mark.parametrize(
    "case", [c for c in COMPARED if c.operator.inplace and result_fits(c)], ids=str
)
def test_inplace_keyword(case: Case) -> None:
    """`inplace=True` writes into the first tensor, and gives it back."""
    operator = case.operator
    values = case.values()
    given = library_values(operator, values)
    first = next(given[a.name] for a in operator.signature.arguments if a.type.is_tensor)
    returned = call(operator, given, Form.KEYWORD, inplace=True)
    assert returned is first
    check(case, values, outputs(operator, returned, given), "inplace=True")


WRITTEN = [c for c in COMPARED if has_inplace(c.operator)]
WRITTEN += [c for o in INPLACE for c in fitting(o) if c.filled and is_reachable(o)]


@pytest.mark.parametrize(
    ("case", "form"),
    [
        (case, form)
        for case in WRITTEN
        for form in (Form.INPLACE_FUNCTION, Form.INPLACE_METHOD)
        if form in forms(case.operator)
    ],
    ids=str,
)
def test_inplace(case: Case, form: Form) -> None:
    operator = case.operator
    values = case.values()
    given = library_values(operator, values)
    if not result_fits(case):
        with pytest.raises((RuntimeError, TypeError), match=operator.name):
            call(operator, given, form)
        return
    target = next(given[a.name] for a in operator.signature.arguments if a.type.is_tensor)
    version = target._version
    returned = call(operator, given, form)
    assert returned is target
    assert target._version > version, "the version counter did not move"
    check(case, values, {result_names(operator)[0]: target}, form.value)


def _numbers(operator: Operator, values: Values) -> list[str]:
    """The arguments for which a number may stand; a method needs its own tensor."""
    own = receiver(operator)
    return [
        a.name
        for a in operator.signature.arguments
        if a.type.or_scalar and a.name in values and a.name != own
    ]


@pytest.mark.parametrize("case", [c for c in COMPARED if _numbers(c.operator, c.values())], ids=str)
@pytest.mark.parametrize("number", [2, 2.5, True])
def test_numbers(case: Case, number: float) -> None:
    """A Python number where a tensor may stand."""
    operator = case.operator
    values = case.values()
    names = _numbers(operator, values)
    values.update(dict.fromkeys(names, number))
    given = library_values(operator, values)
    if refuses_number(operator, values, names, number):
        with pytest.raises(RuntimeError, match=rf"{operator.name}\b.*dtype"):
            call(operator, given)
        return
    found = list(outputs(operator, call(operator, given), given).values())
    target = expected(operator, values)
    wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
    assert wrong is None, f"{operator.full_name} with {number!r}: {wrong}"


SHARED = [
    filled
    for case in COMPARED
    for filled in (case, Case(case.operator, case.index, filled=True))
    if case.operator.test.reference is not None
    and (not filled.filled or (case.operator.kind is Kind.POINTWISE and twins(case) is None))
    and not any(a.type.mutable for a in case.operator.tensor_arguments)
    and len({case.operator.layouts.get(a.name) for a in case.operator.tensor_arguments}) == 1
    and twins(filled) is not None
]


@pytest.mark.parametrize("case", SHARED, ids=str)
def test_shared_input(case: Case) -> None:
    """One tensor given for two arguments."""
    operator = case.operator
    values = case.values()
    pair = twins(case)
    assert pair is not None
    first, second = pair
    values[first] = values[second]  # which may be a divisor
    given = library_values(operator, values)
    given[second] = given[first]
    found = list(outputs(operator, call(operator, given), given).values())
    target = expected(operator, values)
    wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
    assert wrong is None, f"{operator.full_name} with one tensor twice: {wrong}"
    if has_inplace(operator) and result_fits(case):
        call(operator, given, Form.INPLACE_FUNCTION)
        found = [given[first]]
        wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
        assert wrong is None, f"{operator.full_name}_ with itself: {wrong}"


def _tensors(values: Values) -> list[Tensor]:
    return [t for t in flat_tensors(values) if isinstance(t, Tensor)]
