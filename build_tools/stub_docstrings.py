"""Completes the type stubs: each definition gets the docstring that help() prints for it.

Declared operators have theirs already. What is written by hand, in C++ or in Python, says what it
does in one place, which the finished library is asked for, and editors show the same text.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

Definition = ast.ClassDef | ast.FunctionDef
MODULE = "flambeau._C"


def complete_stubs(source: Path, target: Path) -> None:
    """Writes the stubs below `source` with all docstrings below `target`, where they change.

    Raises:
        ImportError: the library cannot be imported.
    """
    importlib.import_module("flambeau")  # adds what is written in Python to the module
    for file in sorted(source.rglob("*.pyi")):
        name = file.relative_to(source)
        text = completed(file.read_text(encoding="utf-8"), _module(name))
        path = target / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _module(stub: Path) -> ModuleType:
    """The module that `_C/nn/functional.pyi` describes."""
    found = importlib.import_module(MODULE)
    for part in stub.with_suffix("").parts[1:]:
        found = found if part == "__init__" else getattr(found, part)
    return found


def completed(stub: str, module: Any) -> str:
    """The text of a stub with the docstrings of what it describes."""
    lines = stub.split("\n")
    # From the end: what was found before keeps its lines.
    for definition, owner in reversed(list(_definitions(ast.parse(stub), module))):
        doc = inspect.getdoc(getattr(owner, definition.name, None))
        if doc and doc != ast.get_docstring(definition):
            _describe(lines, definition, doc)
    return "\n".join(lines)


def _definitions(tree: ast.Module | ast.ClassDef, owner: Any) -> Iterator[tuple[Definition, Any]]:
    """Classes and functions in the order of their lines, and what each is an attribute of. What
    Python gives its own text to, such as `__add__`, is left out.
    """
    for node in tree.body:
        if not isinstance(node, Definition) or node.name.startswith("__") or _is_setter(node):
            continue
        yield node, owner
        if isinstance(node, ast.ClassDef) and hasattr(owner, node.name):
            yield from _definitions(node, getattr(owner, node.name))


def _is_setter(definition: Definition) -> bool:
    return any(
        isinstance(d, ast.Attribute) and d.attr == "setter" for d in definition.decorator_list
    )


def _describe(lines: list[str], definition: Definition, doc: str) -> None:
    """Puts a docstring into a definition, in place of the `...` or of the docstring it has."""
    first = definition.body[0]
    column = definition.col_offset + 4
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        # A class with members, whose first line is the one that names it.
        lines[definition.lineno : definition.lineno] = [*_docstring(doc, column), ""]
        return
    start, end = first.lineno - 1, first.end_lineno or first.lineno
    head = lines[start][: first.col_offset].rstrip()
    lines[start:end] = ([head] if head else []) + _docstring(doc, column)


def _docstring(doc: str, column: int) -> list[str]:
    """The lines of a docstring that starts at a column."""
    margin = " " * column
    text = doc.replace("\\", r"\\").replace('"""', r"\"\"\"")
    if "\n" not in text and not text.endswith('"'):
        return [f'{margin}"""{text}"""']
    body = textwrap.indent(text, margin).lstrip()
    return f'{margin}"""{body}\n{margin}"""'.split("\n")


if __name__ == "__main__":
    complete_stubs(Path(sys.argv[1]), Path(sys.argv[2]))
