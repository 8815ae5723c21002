"""Docstrings say what readers look for; what lacks an example may only become less."""

from __future__ import annotations

from pathlib import Path

import pytest

import flambeau
from flambeau._command_line import main
from flambeau.docs import completeness
from flambeau.docs.completeness import Row, missing, report, rows

WITHOUT_EXAMPLES = Path(__file__).with_name("without_examples.txt")
# Every class and function of these says it all, but for what is listed below.
COMPLETE = ("flambeau.nn", "flambeau.optim", "flambeau.func", "flambeau.utils.data")


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return rows()


def _listed() -> list[str]:
    lines = WITHOUT_EXAMPLES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_examples_may_only_become_more(found: list[Row]) -> None:
    """What is new has an example; what got one leaves the list."""
    without = {row.name for row in found if "example" in row.missing}
    listed = _listed()
    assert len(listed) == len(set(listed))
    assert sorted(without - set(listed)) == [], "these show no example"
    assert sorted(set(listed) - without) == [], f"take these out of {WITHOUT_EXAMPLES.name}"


def test_everything_has_a_summary(found: list[Row]) -> None:
    # Python's own, which `multiprocessing` hands on without a docstring.
    own = [row for row in found if not row.name.startswith("flambeau.multiprocessing.")]
    assert [row.name for row in own if "summary" in row.missing] == []


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


def test_what_is_missing_is_seen() -> None:
    assert missing(Silent) == ("summary", "shapes", "example")
    assert missing(half) == ("arguments", "example")  # `times`
    assert missing(double) == ()


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
