"""The walk of expressions that all evaluators share has Python's semantics and needs no library."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from flambeau.codegen.formula.parse import Language, parse_source
from flambeau.codegen.formula.walker import Walker

NAMES: dict[str, Any] = {"a": 7, "b": -3, "x": 0.5, "xs": [4, 0, 5], "s": "mean", "z": None}
TEXTS = [
    *(f"a {op} b" for op in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^")),
    *(f"a {op} 2" for op in ("<<", ">>")),
    *(f"a {op} b" for op in ("==", "!=", "<", "<=", ">", ">=")),
    *(f"{op}a" for op in ("-", "+", "~", "not ")),
    "z is None",
    "a is not None",
    "a in xs",
    "s not in ('none', 'sum')",
    "b < x < a",
    "a and z or x",
    "0 or '' or xs",
    "a if s == 'mean' else a / 0",
    "z is None or z + 1",
    "xs[0]",
    "xs[-1:]",
    "xs[::2]",
    "(a, [b, x], ())",
    "[n * a for n in xs if n > 0]",
    "[a for a in xs] + [a]",
    "pi",
]
REFERENCES = [
    "(lambda c, d: c * d + a)(a + 1, b)",
    "[*xs, a, *xs[1:]]",
    "[n + m for n in xs for m in [n, 1]]",
]


def _python(text: str) -> Any:
    return eval(text, {"__builtins__": {}, "pi": 3.141592653589793, **NAMES})


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_of_python(text: str) -> None:
    found, expected = Walker(NAMES)(parse_source(text)), _python(text)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("text", REFERENCES)
def test_values_of_references_are_those_of_python(text: str) -> None:
    assert Walker(NAMES)(parse_source(text, Language.REFERENCE)) == _python(text)


@pytest.mark.parametrize("text", ["f(a)", "a.shape", "unknown"])
def test_what_a_walk_gives_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(NotImplementedError, match="cannot be evaluated"):
        Walker(NAMES)(parse_source(text))


def test_names_of_comprehensions_end_with_them() -> None:
    walk = Walker(NAMES)
    walk(parse_source("[a for a in xs]"))
    assert walk.names == NAMES


def test_what_is_known_at_zero_needs_no_numpy() -> None:
    code = (
        "import sys; import flambeau.codegen.formula.zeros; "
        "print([m for m in ('numpy', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
