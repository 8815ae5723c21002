"""Where a reader finds an example of a class or function."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

_PROMPT = re.compile(r"^ *(?:>>>|\.\.\.) (.*)$", re.MULTILINE)
_FORMER = re.compile(r"The former name of `(\w+)`")


def shown_by(name: str, module: ModuleType) -> str | None:
    """Which name of the module shows an example: its own, that which it is a former name of, or ""
    for the module, whose own example uses it; None: nothing does.
    """
    text = inspect.cleandoc(getattr(module, name).__doc__ or "")
    if _PROMPT.search(text):
        return name
    former = _FORMER.match(text)
    if former is not None:
        return former[1] if shown_by(former[1], module) == former[1] else None
    uses = re.compile(rf"\b{re.escape(name)}\b")
    lines = _PROMPT.findall(inspect.cleandoc(module.__doc__ or ""))
    return "" if any(uses.search(line) for line in lines) else None
