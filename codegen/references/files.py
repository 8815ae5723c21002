"""Which functions the references of a family may call: those of `references/FAMILY.py`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flambeau.codegen.text.excerpt import remember_source
from flambeau.codegen.text.source import Diagnostic, Span, one_of

FOLDER = "references"
MODULES = ("numpy", "scipy", "math", "cmath", "itertools", "functools", "collections", "typing")
_NOTHING: Mapping[str, Callable[..., Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class References:
    """A file of references: its functions, and the mistakes that can be seen without calling."""

    path: Path
    version: int
    names: tuple[str, ...]
    mistakes: tuple[Diagnostic, ...]


def references_of(declarations: str) -> References | None:
    """The references of a file of declarations, if it has any."""
    file = Path(declarations)
    path = file.parent / FOLDER / f"{file.stem}.py"
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        return None


def reference_functions(declarations: str) -> Mapping[str, Callable[..., Any]]:
    """What the references of a file of declarations may call, by name."""
    found = references_of(declarations)
    return _NOTHING if found is None else _functions(found)


@lru_cache(maxsize=256)
def _read(path: Path, version: int) -> References:
    text = path.read_text(encoding="utf-8", errors="replace")
    remember_source(str(path), text)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        span = Span(str(path), error.lineno or 1, error.offset or 1)
        return References(path, version, (), (Diagnostic(span, f"does not parse: {error.msg}"),))
    names = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    mistakes = tuple(m for node in ast.walk(tree) for m in _imports(node, path))
    return References(path, version, tuple(names), mistakes)


def _imports(node: ast.AST, path: Path) -> list[Diagnostic]:
    """Imports of what does not compute."""
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        modules = [node.module or ""]
    allowed = (*MODULES, "__future__")
    found = []
    for module in modules:
        if module.split(".")[0] not in allowed and isinstance(node, ast.Import | ast.ImportFrom):
            span = Span(str(path), node.lineno, node.col_offset + 1)
            message = f"references import what computes, not '{module}'"
            found.append(Diagnostic(span, message, f"there are {one_of(MODULES)}"))
    return found


@lru_cache(maxsize=256)
def _functions(references: References) -> Mapping[str, Callable[..., Any]]:
    # The process is needed by calls alone, and NumPy with it.
    from flambeau.codegen.references.process import PROCESS

    def calling(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            return PROCESS.call(references.path, references.version, name, arguments, keywords)

        return call

    return MappingProxyType({name: calling(name) for name in references.names})
