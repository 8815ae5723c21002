"""What is written about operators is true: examples, docstrings, signatures, names."""

from __future__ import annotations

import doctest
import importlib
import inspect
from typing import Any

import pytest
from operator_calls import function_of
from operator_cases import operators

import flambeau
from flambeau.codegen.model.entries import Operator, Place
from flambeau.codegen.plan.python_signature import (
    Form,
    form_name,
    forms,
    places,
    python_names,
    python_signature,
    qualified_name,
)

PUBLIC = [o for o in operators() if not o.internal and forms(o)]
NAMED: dict[str, set[str]] = {}  # the operators that have forms of a name
for _operator in operators():
    for _form in forms(_operator):
        NAMED.setdefault(form_name(_operator, _form), set()).add(_operator.full_name)


@pytest.mark.parametrize(
    "operator", [o for o in operators() if o.doc.example], ids=lambda o: o.full_name
)
def test_example(operator: Operator) -> None:
    """The example prints what it says."""
    flambeau.manual_seed(0)
    assert operator.doc.example is not None
    place = operator.span
    package = operator.package or "flambeau"
    test = doctest.DocTestParser().get_doctest(
        operator.doc.example,
        {"flambeau": flambeau, package: importlib.import_module(package)},
        operator.full_name,
        place.file,
        place.line,
    )
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("operator", PUBLIC, ids=lambda o: o.full_name)
def test_public_name(operator: Operator) -> None:
    """Every form is found where users look for it."""
    for form in forms(operator):
        if form is Form.LIST:
            continue
        if form.is_method:
            for name in python_names(operator, form):
                found = inspect.getattr_static(flambeau.Tensor, name)
                assert inspect.isroutine(found) or inspect.isdatadescriptor(found), name
            continue
        for place in places(operator, form):
            found = getattr(_namespace(operator, place), place.name)
            assert callable(found), place


def _namespace(operator: Operator, place: Place) -> Any:
    """The module that users find a function in."""
    if not operator.package:
        name = ".".join(p for p in ("flambeau", place.namespace) if p)
        return importlib.import_module(name)
    space: Any = importlib.import_module(operator.package)
    for part in filter(None, place.namespace.split(".")):
        space = getattr(space, part)
    return space


def _docstrings(operator: Operator) -> list[tuple[Form, Any]]:
    found: list[tuple[Form, Any]] = []
    for form in forms(operator):
        name = form_name(operator, form)
        owner = vars(flambeau.Tensor).get(name) if form.is_method else function_of(operator, form)
        found.append((form, owner))
    return found


@pytest.mark.parametrize("operator", PUBLIC, ids=lambda o: o.full_name)
def test_docstring(operator: Operator) -> None:
    """help() shows the signature and what the operator does."""
    for form, function in _docstrings(operator):
        signature = python_signature(operator, form)
        text = inspect.getdoc(function) or ""
        own = " ".join(text.split())
        assert " ".join(signature.text(receiver="").split()) in own, qualified_name(operator, form)
        if NAMED[form_name(operator, form)] == {operator.full_name}:
            shown = [p for p in inspect.signature(function).parameters if p != "self"]
            assert shown == [p.name for p in signature.parameters]
