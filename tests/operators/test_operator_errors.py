"""Mistakes in calls: declared errors, wrong dtypes, missing and undefined tensors."""

from __future__ import annotations

import builtins
import re
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from operator_calls import (
    call,
    is_reachable,
    library_values,
    primary_form,
    receiver,
    to_tensor,
)
from operator_cases import Case, Values, arrays, dtypes, evaluate_sample, operators
from operator_choice import sample_with
from operator_mistakes import LARGEST, refused_values
from test_operator_dtypes import in_dtype, swept

import flambeau
from flambeau.codegen.model.entries import Argument, Base, Constraint, Kind, Operator
from flambeau.codegen.plan.argument_errors import argument_errors
from flambeau.codegen.plan.python_signature import Form

REJECTED = [
    (o, c)
    for o in operators()
    for c in o.constraints
    if is_reachable(o) and c.name in o.test.rejects
]


def _known_as(operator: Operator) -> str:
    """What messages call it."""
    return (operator.called_as or operator.name).removeprefix("nn.functional.")


def _shown(part: str) -> str:
    """A part of a message as functions show it, whose first argument is called input there."""
    return re.sub(r"\bself\b", "input", part).strip()


def _refused(dtype: str, key: str, array: Any) -> Any:
    """The sample as a tensor of a dtype that the operator does not take."""
    return to_tensor(in_dtype(array, dtype, key), dtype)


@pytest.fixture
def every_warning() -> Iterator[None]:
    """Also those that a program gets once."""
    flambeau.set_warn_always(True)
    yield
    flambeau.set_warn_always(False)


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize(
    ("operator", "constraint"), REJECTED, ids=[f"{o.full_name}-{c.name}" for o, c in REJECTED]
)
def test_rejected(operator: Operator, constraint: Constraint) -> None:
    """The arguments that break a constraint raise its error, or warn; words name the operator."""
    sample = operator.test.rejects[constraint.name]
    given = library_values(operator, evaluate_sample(operator, sample, constraint.name))
    kind = getattr(builtins, constraint.exception)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if constraint.only_warns else "ignore")
        with pytest.raises(kind) as caught:
            call(operator, given)
    message = str(caught.value)
    assert _known_as(operator) in message
    for part in constraint.parts:
        if isinstance(part, str):
            assert _shown(part) in _shown(message), f"{part!r} is not in {message!r}"


INTEGERS = [
    (o, a)
    for o in operators()
    for a in o.signature.arguments
    if is_reachable(o) and o.test.samples and any(e.argument is a for e in argument_errors(o))
]


@pytest.mark.parametrize(
    ("operator", "argument"), INTEGERS, ids=[f"{o.full_name}-{a.name}" for o, a in INTEGERS]
)
def test_refused_integer(operator: Operator, argument: Argument) -> None:
    """Dims, indices, sizes and lists of ints that cannot be are refused before anything is read:
    at their limits and at those of 64 bits. The error names the operator and the argument.
    """
    values = Case(operator, 0).values()
    refused = list(refused_values(operator, argument, values))
    assert refused
    for value, error in refused:
        given = library_values(operator, {**values, argument.name: value})
        with pytest.raises(error) as caught:
            call(operator, given)
        message = str(caught.value)
        assert _known_as(operator) in message
        if value != [LARGEST, LARGEST]:  # there the number of elements is named
            assert argument.name in message, f"{argument.name} is not in {message!r}"


def _sample_with(operator: Operator, *names: str) -> Case | None:
    """A sample that has tensors for these arguments."""
    return sample_with(operator, lambda v: set(names) <= {a.name for a, _ in arrays(operator, v)})


def refused_dtype(operator: Operator, argument: Argument) -> str | None:
    """A dtype that an argument does not accept."""
    accepted = operator.dtypes.accepts[argument.name]
    order = ("complex64", "float32", "int64", "bool", "int16", "uint8")
    return next((name for name in order if name not in accepted), None)


DTYPES = [
    (o, a)
    for o in operators()
    for a in o.tensor_arguments
    if is_reachable(o)
    and o.kind is not Kind.COMPOSITE
    and o.test.samples
    and primary_form(o) is not Form.LIST
    and a.name not in o.dtypes.same_as
    and not a.type.is_list
    and refused_dtype(o, a) is not None
    and _sample_with(o, a.name) is not None
]


@pytest.mark.parametrize(
    ("operator", "argument"), DTYPES, ids=[f"{o.full_name}-{a.name}" for o, a in DTYPES]
)
def test_refused_dtype(operator: Operator, argument: Argument) -> None:
    case = _sample_with(operator, argument.name)
    assert case is not None
    values = case.values()
    name = refused_dtype(operator, argument)
    assert name is not None
    together = set(swept(operator)) if argument.name in swept(operator) else {argument.name}
    given: Values = {}
    for key, value in values.items():
        convert: Any = to_tensor
        if key in together:
            convert = partial(_refused, name, key)
        given.update(library_values(operator, {key: value}, convert))
    with pytest.raises((RuntimeError, TypeError, IndexError)) as caught:
        call(operator, given)
    message = str(caught.value)
    assert _known_as(operator) in message
    assert name in message, f"{name} is not in {message!r}"


def _another_dtype(operator: Operator, name: str, target: str) -> str | None:
    """A dtype that `name` accepts and that the sample's `target` does not have."""
    case = _sample_with(operator, name, target)
    if case is None:
        return None
    now = to_tensor(case.values()[target]).dtype.name
    return next((d for d in dtypes() if d in operator.dtypes.accepts[name] and d != now), None)


SAME = [
    (o, name, target)
    for o in operators()
    for name, target in o.dtypes.same_as.items()
    if is_reachable(o)
    and o.test.samples
    and o.kind is not Kind.COMPOSITE
    and name not in o.layouts
    and primary_form(o) is not Form.LIST
    and not o.argument(name).type.is_list
    and not o.argument(target).type.is_list
    and _another_dtype(o, name, target) is not None
]


@pytest.mark.parametrize(
    ("operator", "name", "target"), SAME, ids=[f"{o.full_name}-{n}" for o, n, _ in SAME]
)
def test_different_dtypes(operator: Operator, name: str, target: str) -> None:
    case, other = _sample_with(operator, name, target), _another_dtype(operator, name, target)
    assert case is not None and other is not None
    values = case.values()
    given = library_values(operator, values)
    given[name] = to_tensor(in_dtype(values[name], other, 0), other)
    with pytest.raises((RuntimeError, TypeError)) as caught:
        call(operator, given)
    message = str(caught.value)
    assert _known_as(operator) in message
    assert other in message


REQUIRED = [
    (o, a)
    for o in operators()
    for a in o.tensor_arguments
    if is_reachable(o)
    and o.test.samples
    and primary_form(o) is not Form.LIST
    and not a.type.optional
    and a.default is None
    and a.name != receiver(o)
]


@pytest.mark.parametrize(
    ("operator", "argument"), REQUIRED, ids=[f"{o.full_name}-{a.name}" for o, a in REQUIRED]
)
def test_undefined(operator: Operator, argument: Argument) -> None:
    """A string, None, or nothing in place of a tensor."""
    given = library_values(operator, Case(operator, 0).values())
    with pytest.raises(TypeError, match=_known_as(operator)):
        call(operator, {**given, argument.name: "text"})
    if is_overloaded(operator):
        return  # None, or nothing, may be what another overload takes
    with pytest.raises(TypeError, match=_known_as(operator)):
        call(operator, {**given, argument.name: None})
    if argument.spread:
        return  # without arguments the list is empty
    rest = {k: v for k, v in given.items() if k != argument.name}
    with pytest.raises(TypeError, match=_known_as(operator)):
        call(operator, rest, by_keyword=True)


def is_overloaded(operator: Operator) -> bool:
    """Whether the name stands for several operators."""
    return sum(o.name == operator.name for o in operators()) > 1


UNIQUE = [
    o
    for o in operators()
    if is_reachable(o) and o.test.samples and primary_form(o) is not Form.LIST
]


@pytest.mark.parametrize("operator", UNIQUE, ids=lambda o: o.full_name)
def test_unknown_keyword(operator: Operator) -> None:
    given = library_values(operator, Case(operator, 0).values())
    with pytest.raises(TypeError, match=_known_as(operator)):
        call(operator, given, by_keyword=True, no_such_argument=1)


@pytest.mark.parametrize(
    ("operator", "argument"),
    [
        (o, a)
        for o in UNIQUE
        for a in o.signature.arguments
        if a.type.base in (Base.INT, Base.BOOL) and not is_overloaded(o)
    ],
    ids=lambda v: v.full_name if isinstance(v, Operator) else v.name,
)
def test_wrong_type(operator: Operator, argument: Argument) -> None:
    """Text in place of a number."""
    given = library_values(operator, Case(operator, 0).values())
    with pytest.raises(TypeError, match=_known_as(operator)):
        call(operator, {**given, argument.name: "text"}, by_keyword=True)
