"""Everything that a file could change, if it reached an object of the library or of Python."""

from __future__ import annotations

import sys
from typing import Any

_PYTHON = ("collections", "builtins", "os", "pickle", "copyreg")


def library_state() -> dict[str, Any]:
    """Members of modules and classes, attributes and defaults of functions."""
    state: dict[str, Any] = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] != "flambeau" and name not in _PYTHON:
            continue
        for key, value in list(vars(module).items()):
            if key == "__warningregistry__":
                continue
            state[f"{name}.{key}"] = id(value)
            if hasattr(value, "__defaults__"):
                state[f"{name}.{key} defaults"] = repr(value.__defaults__)
            if isinstance(value, type):
                state[f"{name}.{key} members"] = {k: id(v) for k, v in vars(value).items()}
            elif hasattr(value, "__dict__") and callable(value):
                state[f"{name}.{key} attributes"] = {k: id(v) for k, v in vars(value).items()}
    return state
