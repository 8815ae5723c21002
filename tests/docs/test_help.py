"""help(), IPython's `?` and an editor's hover show one text."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flambeau

STUBS = Path(flambeau.__file__).parent / "_C"
Found = tuple[str, Any, str]  # name, object, docstring of the stub


def _documented(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, str]]:
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            for name, doc in _documented(item):
                yield f"{item.name}.{name}", doc
        elif isinstance(item, ast.FunctionDef) and ast.get_docstring(item):
            yield item.name, ast.get_docstring(item) or ""


def _stubbed() -> Iterator[Found]:
    """Every definition with a docstring in the stubs, and what it is a stub of."""
    for file in sorted(STUBS.rglob("*.pyi")):
        parts = file.relative_to(STUBS).with_suffix("").parts
        names = [p for p in parts if p != "__init__"]
        module = importlib.import_module("flambeau._C")
        for name in names:
            module = getattr(module, name)
        for name, doc in _documented(ast.parse(file.read_text(encoding="utf-8"))):
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part)
            yield ".".join([*names, name]), found, doc


STUBBED = list(_stubbed())


def test_stubs_describe_every_operator() -> None:
    names = {name for name, _, _ in STUBBED}
    assert {"softmax", "Tensor.softmax", "nn.functional.silu", "add", "Tensor.add_"} <= names
    assert len(STUBBED) > 800


def _written_in_python(found: Any) -> bool:
    """Whether the library's Python part has replaced the generated function by one of its own."""
    return isinstance(found, type(lambda: None))


@pytest.mark.parametrize(("name", "found", "doc"), STUBBED, ids=lambda value: str(value)[:60])
def test_stub_and_help_agree(name: str, found: Any, doc: str) -> None:
    """What an editor reads from the stub is what help() prints."""
    if _written_in_python(found):
        assert inspect.getdoc(found)
        return
    assert inspect.getdoc(found) == doc


# Editors and IPython, asked as they are by users, about every so many-th name.
ASKED = [entry for entry in STUBBED[::60] if not _written_in_python(entry[1])]


@pytest.mark.parametrize(("name", "found", "doc"), ASKED, ids=lambda value: str(value)[:60])
def test_ipython_and_hover_agree(name: str, found: Any, doc: str) -> None:
    """IPython's `?` prints the text of help(); an editor's engine finds it in the stub."""
    oinspect = pytest.importorskip("IPython.core.oinspect", reason="IPython is not installed")
    jedi = pytest.importorskip("jedi", reason="jedi, which comes with IPython, is not installed")
    assert oinspect.Inspector(theme_name="nocolor").info(found)["docstring"].rstrip() == doc
    code = f"import flambeau\nflambeau._C.{name}"
    project = jedi.Project(str(STUBS.parents[1]), added_sys_path=[str(STUBS.parents[1])])
    helps = jedi.Script(code, project=project).help(2, len(code.split("\n")[1]))
    assert helps, name
    assert helps[0].docstring(raw=True) == doc
