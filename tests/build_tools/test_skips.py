"""Every reason for which a test may be skipped is one that the suite accepts, also where this
machine lacks nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SKIPS = ("skip", "skipif", "importorskip", "xfail")


def accepted() -> tuple[str, ...]:
    """What tests/conftest.py accepts."""
    for node in ast.parse((TESTS / "conftest.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ENVIRONMENT":
            return tuple(ast.literal_eval(node.value))
    raise AssertionError("tests/conftest.py has no ENVIRONMENT")


def reasons(text: str) -> Iterator[tuple[int, str | None]]:
    """Line and reason of each skip; None where there is none, or one that is computed."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in SKIPS or not ast.unparse(node.func).startswith("pytest."):
            continue
        named = [k.value for k in node.keywords if k.arg == "reason"]
        given = named or (node.args[:1] if node.func.attr == "skip" else [])
        found = given[0] if given else None
        is_text = isinstance(found, ast.Constant) and isinstance(found.value, str)
        yield node.lineno, found.value if is_text else None


def test_reasons_are_of_the_environment() -> None:
    known = accepted()
    seen = 0
    for path in sorted(TESTS.rglob("*.py")):
        for line, reason in reasons(path.read_text(encoding="utf-8")):
            seen += 1
            if reason is None:  # what a library says that is missing, or a conftest.py has found
                continue
            assert any(text in reason for text in known), f"{path}:{line}: {reason}"
    assert seen > 20


@pytest.mark.parametrize("call", ["pytest.skip('later')", "pytest.mark.skipif(x, reason='later')"])
def test_planted_reasons_are_seen(call: str) -> None:
    assert [reason for _, reason in reasons(call)] == ["later"]
