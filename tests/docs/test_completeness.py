"""Docstrings say what readers look for."""

from __future__ import annotations

from types import ModuleType

import pytest

import flambeau
from flambeau._command_line import main
from flambeau.docs import completeness
from flambeau.docs.arguments import described_by, shared_by
from flambeau.docs.completeness import Row, missing, report, rows


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return rows()


def test_nothing_is_missing(found: list[Row]) -> None:
    """A summary, arguments, shapes of layers, an example."""
    assert len(found) > 1500
    assert {row.name: row.missing for row in found if row.missing} == {}


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
