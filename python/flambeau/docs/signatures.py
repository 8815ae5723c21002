"""How functions and classes of the library are called, from their code or, for compiled ones, from
the type stubs of the package.
"""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from pathlib import Path
from typing import Any

import flambeau

_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}
STUBS = Path(flambeau.__file__).parent / "_C"


def signatures_of(function: Any, name: str, drop_first: bool = False) -> list[str]:
    """`name(parameters) -> result`, one per overload."""
    if inspect.isbuiltin(function) or inspect.ismethoddescriptor(function):
        stubbed = _stubbed().get(name.removeprefix("flambeau."), [])  # with types
        if stubbed:
            return [f"{name}{text}" for text in stubbed]
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError):
        return [f"{name}(...)"]
    parameters = list(found.parameters.values())[1 if drop_first else 0 :]
    shown = [_parameter(p) for p in parameters]
    _mark_kinds(parameters, shown)
    returns = found.return_annotation
    arrow = "" if returns is inspect.Signature.empty else f" -> {_annotation(returns)}"
    return [f"{name}({', '.join(shown)}){arrow}"]


def _parameter(parameter: inspect.Parameter) -> str:
    stars: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    text = stars.get(parameter.kind, "") + parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        value = repr(parameter.default)
        text += f" = {'...' if '<' in value else value}"
    return text


def _mark_kinds(parameters: list[inspect.Parameter], shown: list[str]) -> None:
    """Puts `*` before the first keyword-only parameter."""
    kinds = [p.kind for p in parameters]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type):
        return annotation.__name__
    return str(annotation).replace("typing.", "")


@lru_cache(maxsize=1)
def _stubbed() -> dict[str, list[str]]:
    """The signatures that the stub of the compiled module states: "Tensor.backward" and so on."""
    found: dict[str, list[str]] = {}
    _collect(ast.parse((STUBS / "__init__.pyi").read_text(encoding="utf-8")), "", found)
    return found


def _collect(node: ast.Module | ast.ClassDef, prefix: str, found: dict[str, list[str]]) -> None:
    for item in node.body:
        if isinstance(item, ast.ClassDef):
            _collect(item, f"{prefix}{item.name}.", found)
        elif isinstance(item, ast.FunctionDef):
            found.setdefault(prefix + item.name, []).append(_text(item, bool(prefix)))


def _text(function: ast.FunctionDef, is_method: bool) -> str:
    arguments = function.args
    static = any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
    )
    if is_method and not static:
        (arguments.posonlyargs or arguments.args).pop(0)
    returns = ast.unparse(function.returns) if function.returns else "None"
    return _public(f"({ast.unparse(arguments)}) -> {returns}")


def _public(text: str) -> str:
    """Without the underscores that keep names of stubs apart from members; classes in full, since
    submodules have some of the same name.
    """
    tree = ast.parse(f"def f{text}: ...")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id.startswith("_"):
            node.id = node.id[1:]
            if isinstance(getattr(flambeau, node.id, None), type):
                node.id = f"flambeau.{node.id}"
    return ast.unparse(tree).removeprefix("def f").removesuffix(":\n    ...").removesuffix(": ...")
