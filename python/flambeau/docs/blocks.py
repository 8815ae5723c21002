"""Blocks that pages of modules and of classes are made of."""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

from flambeau.docs.arguments import shared_by
from flambeau.docs.docstrings import to_markdown
from flambeau.docs.examples import shown_by
from flambeau.docs.links import Reader
from flambeau.docs.signatures import signatures_of

_WORD = re.compile(r"\w+")


def words_of(signatures: list[str]) -> set[str]:
    """What signatures speak of: names of arguments among them, which are no links."""
    return {word for text in signatures for word in _WORD.findall(text.partition("(")[2])}


def shared_arguments(value: Any, module: ModuleType) -> str:
    """Those that the docstring of the module describes for all."""
    names: dict[str, list[str]] = {}  # by what is said of them
    for name, text in shared_by(value, module).items():
        names.setdefault(text, []).append(name)
    entries = "".join(f"    {', '.join(alike)}: {text}\n" for text, alike in names.items())
    return to_markdown(f"Args:\n{entries}") + "\n" if names else ""


def example_link(name: str, space: str, module: ModuleType) -> str:
    """Where the example is, if it stands elsewhere."""
    shown = shown_by(name, module)
    if shown is None or shown == name:
        return ""
    if shown == "":
        return f"[Example]({space}.md)\n"
    return f"Example: {{any}}`{space}.{shown}`\n"


def function_block(
    function: Any, name: str, kind: str, reader: Reader, is_method: bool = False, more: str = ""
) -> list[str]:
    """A function, or a method without its first parameter, with what its docstring says."""
    bound = inspect.ismethod(function)  # a class method has lost its first parameter already
    signatures = signatures_of(function, name, drop_first=is_method and not bound)
    about = reader.linked(to_markdown(function.__doc__ or ""), words_of(signatures))
    return directive(kind, signatures, f"{about}\n{more}")


def directive(kind: str, signatures: list[str], body: str) -> list[str]:
    """The description under the last signature; the others stand above it."""
    lines = []
    # `nn.Module` without more is that of today.
    options = [":no-index:"] if signatures[-1].startswith("flambeau.legacy.") else []
    for signature in signatures[:-1]:
        lines += [f"```{{{kind}}} {signature}", ":no-index:", "```", ""]
    fence = "`````"
    lines += [f"{fence}{{{kind}}} {signatures[-1]}", *options, "", body.rstrip(), fence, ""]
    return lines
