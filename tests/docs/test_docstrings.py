"""Examples in docstrings of the library and the generator run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from typing import Any

import pytest
from example_groups import run

import flambeau
from flambeau.codegen.read.loader import library_declarations
from flambeau.docs.library import public_modules, public_names


def _tests() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found: list[doctest.DocTest] = []
    for info in pkgutil.walk_packages(flambeau.__path__, "flambeau."):
        # Importing these runs a program, or needs a device.
        if info.name.endswith("__main__") or info.name.startswith("flambeau._C"):
            continue
        module = importlib.import_module(info.name)
        found += finder.find(module, extraglobs={"flambeau": flambeau})
    return [test for test in found if test.examples]


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("test", _tests(), ids=lambda test: test.name)
def test_docstring_example(test: doctest.DocTest) -> None:
    """Examples see the names of their module."""
    flambeau.manual_seed(0)
    wrong = run(test)
    assert not wrong, wrong


def _described() -> list[tuple[str, Any]]:
    return [
        (f"{name}.{member}", getattr(module, member))
        for name, module in public_modules().items()
        for member in public_names(module)
        if callable(getattr(module, member))
    ]


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in _described()]
)
def test_docstring(name: str, value: Any) -> None:
    """Everything public says what it is; what it calls an example can be run."""
    text = inspect.getdoc(value)
    assert text, name
    for section in re.findall(r"^Examples?:\n((?:    .*\n?|\n)*)", text, re.MULTILINE):
        assert section.lstrip().startswith(">>>"), name


def _elsewhere() -> list[tuple[str, Any]]:
    """What doctest does not find in the modules: what is compiled, or made when it is imported."""
    known: set[int] = set()
    operators = library_declarations().by_name  # the examples of these are run with their tests
    found_by_doctest = {test.name for test in _tests()}
    found = []
    for name, value in _described():
        home = f"{value.__module__}.{getattr(value, '__qualname__', '')}"
        is_new = id(value) not in known and home not in found_by_doctest
        known.add(id(value))
        if is_new and ">>>" in (value.__doc__ or "") and name.rpartition(".")[2] not in operators:
            found.append((name, value))
    return found


ELSEWHERE = _elsewhere()


@pytest.mark.parametrize(("name", "value"), ELSEWHERE, ids=[name for name, _ in ELSEWHERE])
def test_example_elsewhere(name: str, value: Any) -> None:
    globs = {"flambeau": flambeau}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", globs, name, None, 0)
    flambeau.manual_seed(0)
    wrong = run(test)
    assert test.examples and not wrong, wrong


_CODE = re.compile(r"(\w[\w., ]* = \S|\w[\w.]*\(|from \w|import \w)")


def _blocks(text: str) -> list[str]:
    """What is indented below a line of prose."""
    return [
        inspect.cleandoc(block)
        for block in re.findall(r"^\S.*\n\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("name", sorted(public_modules()))
def test_code_in_docstrings_is_run(name: str) -> None:
    """Python that docstrings show has prompts: the tests above run it."""
    module = public_modules()[name]
    texts = [inspect.getdoc(module) or ""]
    texts += [inspect.getdoc(getattr(module, member)) or "" for member in public_names(module)]
    for block in (block for text in texts for block in _blocks(text)):
        assert not _CODE.match(block), block
