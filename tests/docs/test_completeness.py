"""Docstrings say what readers look for."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

import flambeau
from flambeau._command_line import main
from flambeau.docs import completeness
from flambeau.docs.arguments import described_by, shared_by
from flambeau.docs.completeness import Row, missing, report, rows

# What says in words what arguments are, where it is compiled, or as the standard names them.
IN_WORDS = re.compile(r"flambeau\.[a-zA-Z_]+$|flambeau\.array_api\.")


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return rows()


def test_everything_has_a_summary_and_an_example(found: list[Row]) -> None:
    lacking = {row.name: set(row.missing) & {"summary", "example"} for row in found}
    assert {name: parts for name, parts in lacking.items() if parts} == {}


def test_arguments_and_shapes_are_described(found: list[Row]) -> None:
    checked = [row for row in found if not IN_WORDS.match(row.name)]
    assert len(checked) > 900
    lacking = {row.name: set(row.missing) & {"arguments", "shapes"} for row in checked}
    assert {name: parts for name, parts in lacking.items() if parts} == {}


class Silent(flambeau.nn.Module):
    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return x


def half(value: float, times: int = 1) -> float:
    """Halves.

    Args:
        value: a number.
    """
    return value / 2**times


def double(value: float) -> float:
    """Doubles.

    Args:
        value: a number.

    Example:
        >>> double(1)
        2
    """
    return value * 2


def former() -> None:
    """The former name of `double`."""


def lost() -> None:
    """The former name of `half`."""


def listed() -> None:
    """Is in the module's example."""


def test_what_is_missing_is_seen() -> None:
    module = ModuleType("made", "Examples.\n\n    >>> listed()")
    for made in (Silent, half, double, former, lost, listed):
        setattr(module, made.__name__, made)
    assert missing("Silent", module) == ("summary", "shapes", "example")
    assert missing("half", module) == ("arguments", "example")  # `times`
    assert missing("double", module) == ()
    assert missing("former", module) == missing("listed", module) == ()
    assert missing("lost", module) == ("example",)
    module.__doc__ = "Examples.\n\nArgs:\n    a, times: how often.\n    b: what\n        else."
    assert missing("half", module) == ("example",)
    assert shared_by(half, module) == {"times": "how often."}
    assert described_by(module) == {"a": "how often.", "times": "how often.", "b": "what else."}


def test_the_command_prints_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    some = [Row("flambeau.a.b", ("example",)), Row("flambeau.a.c", ())]
    monkeypatch.setattr(completeness, "rows", lambda: some)
    assert main(["docs", "check"]) == 0
    printed = capsys.readouterr().out
    assert printed == f"{report(some)}\n"
    assert printed.splitlines()[1].split() == ["flambeau.a", "2", "-", "-", "-", "1"]
    assert printed.endswith("\nflambeau.a.b: example\n")
