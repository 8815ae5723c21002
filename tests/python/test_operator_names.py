"""What is called like a declared operator is that operator, as generated: nothing wraps it."""

from __future__ import annotations

import importlib
import inspect

import pytest

import flambeau
from flambeau.codegen.plan.python_signature import forms, places, python_names
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.read.operator_reader import NAMESPACES

OPERATORS = [o for o in library_declarations().own if not o.internal]
FUNCTIONS = {p.name for o in OPERATORS for f in forms(o) if not f.is_method for p in places(o, f)}
METHODS = {n for o in OPERATORS for f in forms(o) if f.is_method for n in python_names(o, f)}
SPACES = ("", *(n for n in NAMESPACES if any(o.namespace == n for o in OPERATORS)))


@pytest.mark.parametrize("space", SPACES)
def test_functions_are_generated(space: str) -> None:
    module = importlib.import_module(".".join(filter(None, ("flambeau", space))))
    written = {
        ".".join(filter(None, (space, name)))
        for name, value in vars(module).items()
        if name in FUNCTIONS and inspect.isfunction(value)
    }
    assert not written


def test_methods_are_generated() -> None:
    written = {n for n, v in vars(flambeau.Tensor).items() if inspect.isfunction(v)}
    assert not written & METHODS
