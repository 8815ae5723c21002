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


def _definitions(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The names of a stub and their docstrings. Python has words of its own for `__add__`, and a
    setter is described where its property is.
    """
    for item in tree.body:
        if not isinstance(item, ast.ClassDef | ast.FunctionDef) or item.name.startswith("__"):
            continue
        if any(isinstance(d, ast.Attribute) for d in item.decorator_list):
            continue
        if any(isinstance(d, ast.Name) and d.id == "_type_check_only" for d in item.decorator_list):
            continue
        yield item.name, ast.get_docstring(item) or ""
        if isinstance(item, ast.ClassDef):
            for name, doc in _definitions(item):
                yield f"{item.name}.{name}", doc


def _stubbed() -> Iterator[Found]:
    """Everything in the stubs, and what it is a stub of."""
    for file in sorted(STUBS.rglob("*.pyi")):
        parts = file.relative_to(STUBS).with_suffix("").parts
        names = [p for p in parts if p != "__init__"]
        module = importlib.import_module("flambeau._C")
        for name in names:
            module = getattr(module, name)
        for name, doc in _definitions(ast.parse(file.read_text(encoding="utf-8"))):
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part)
            yield ".".join([*names, name]), found, doc


STUBBED = list(_stubbed())


def _name_only(value: Any) -> str:
    """For the names of tests, which several processes must find alike."""
    return value[:60] if isinstance(value, str) and "\n" not in value else ""


def test_stubs_describe_everything() -> None:
    """Declared operators, and what is written in C++ and in Python."""
    names = {name for name, _, _ in STUBBED}
    assert {"softmax", "Tensor.softmax", "nn.functional.silu", "add", "Tensor.add_"} <= names
    assert {"tensor", "empty_cache", "Tensor.to", "Tensor.shape", "Tensor.unique"} <= names
    assert {"Generator.manual_seed", "_autograd.Node.register_hook", "device"} <= names
    assert [name for name, _, doc in STUBBED if not doc] == []
    assert len(STUBBED) > 1000


@pytest.mark.parametrize(("name", "found", "doc"), STUBBED, ids=_name_only)
def test_stub_and_help_agree(name: str, found: Any, doc: str) -> None:
    """What an editor reads from the stub is what help() prints."""
    assert inspect.getdoc(found) == doc


def _signed() -> Iterator[tuple[str, Any, list[str]]]:
    """What has one signature in the stub of the module, and the names of its parameters."""
    tree = ast.parse((STUBS / "__init__.pyi").read_text(encoding="utf-8"))
    scopes = [("", tree.body), *((f"{n.name}.", n.body) for n in tree.body if _is_class(n))]
    for prefix, body in scopes:
        for item in body:
            if not isinstance(item, ast.FunctionDef) or item.decorator_list:
                continue
            found: Any = flambeau._C
            for part in f"{prefix}{item.name}".split("."):
                found = getattr(found, part, None)
            if found is None or item.name.startswith("__"):
                continue
            arguments = item.args
            names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            yield f"{prefix}{item.name}", found, [a.arg for a in names if a.arg != "self"]


def _is_class(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef)


@pytest.mark.parametrize(("name", "found", "parameters"), list(_signed()), ids=_name_only)
def test_signatures_of_stub_and_module_agree(name: str, found: Any, parameters: list[str]) -> None:
    """inspect reads the same parameters from the module as editors from the stub."""
    signature = inspect.signature(found)
    own = list(signature.parameters)
    # A function of flambeau that is a method too calls its tensor `input`.
    is_method = name.startswith("Tensor.") and own[:1] == ["input"]
    expected = ["input", *parameters] if is_method else parameters
    assert [p for p in own if p != "self"] == expected


# Editors and IPython, asked as they are by users, about every so many-th name; editors pass over
# private names of a stub.
ASKED = [one for one in STUBBED if not one[0].rpartition(".")[2].startswith("_")][::60]


@pytest.mark.parametrize(("name", "found", "doc"), ASKED, ids=_name_only)
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
