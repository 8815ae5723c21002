"""Docstrings say what readers look for."""

from __future__ import annotations

from types import ModuleType

import pytest

import flambeau
from flambeau._command_line import main
from flambeau.docs import completeness
from flambeau.docs.completeness import Row, missing, report, rows

# Every class and function of these says it all, but for what is listed below.
COMPLETE = ("flambeau.nn", "flambeau.optim", "flambeau.func", "flambeau.utils.data")


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return rows()


def test_everything_has_a_summary_and_an_example(found: list[Row]) -> None:
    lacking = {row.name: set(row.missing) & {"summary", "example"} for row in found}
    assert {name: parts for name, parts in lacking.items() if parts} == {}


def test_layers_and_optimizers_are_complete(found: list[Row]) -> None:
    """Arguments and shapes of what networks are made and trained with."""
    refused = "flambeau.nn.attention.flex_attention."  # raise whatever they are given
    checked = [row for row in found if row.name.startswith(COMPLETE) and refused not in row.name]
    assert len(checked) > 250
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
