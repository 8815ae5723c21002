"""Arguments as docstrings describe them: a class's or function's own, and those that many members
of a module share, which its docstring describes once.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

# Instead of a list: "Arguments are those of Conv1d", "Arguments as of ...".
_ELSEWHERE = re.compile(r"\b[Aa]rguments\b[^.]{0,60}\b(of|as)\b|^ +others: ", re.MULTILINE)
_SECTION = re.compile(r"^Args:\n((?:    .*\n?)+)", re.MULTILINE)


def undescribed(value: Any, module: ModuleType) -> list[str]:
    """Parameters that neither its docstring nor the module's names."""
    shared = described_by(module)
    return [name for name in _unnamed(value) if name not in shared]


def shared_by(value: Any, module: ModuleType) -> dict[str, str]:
    """What the docstring of the module says of the parameters that its own does not name."""
    shared = described_by(module)
    return {name: shared[name] for name in _unnamed(value) if name in shared}


def described_by(module: ModuleType) -> dict[str, str]:
    """The arguments of the members of a module, by name."""
    section = _SECTION.search(inspect.cleandoc(module.__doc__ or ""))
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=    \S)", section[1].rstrip() if section else ""):
        names, _, text = " ".join(entry.split()).partition(": ")
        found |= dict.fromkeys((name.strip() for name in names.split(",") if text), text)
    return found


def _unnamed(value: Any) -> list[str]:
    """Parameters that its docstring does not name, unless it says where they are described."""
    text = inspect.cleandoc(value.__doc__ or "")
    if _ELSEWHERE.search(text):
        return []
    return [n for n in _parameters(value) if not re.search(rf"\b{re.escape(n)}\b", text)]


def _parameters(value: Any) -> Iterator[str]:
    if _is_compiled(value) or (inspect.isclass(value) and issubclass(value, enum.Enum)):
        return
    try:
        signature = inspect.signature(value)
    except ValueError:  # of an operator with several, under another name
        return
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for name, parameter in signature.parameters.items():
        if parameter.kind not in any_number and not name.startswith("_"):
            yield name


def _is_compiled(value: Any) -> bool:
    """Whether there is no Python function behind it: such ones say in a sentence what they take."""
    if not inspect.isclass(value):
        return inspect.isbuiltin(value)
    made_by = (type(value).__call__, value.__init__, value.__new__)
    return not any(map(inspect.isfunction, made_by))
