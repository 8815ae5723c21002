"""The guide's tables of promises name tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
GUIDE = TESTS.parent / "python" / "docs" / "guide"
_NAMED = re.compile(r"`(?:[\w/]+/)?(\w+\.py|test_\w+)`")


def rows(page: Path) -> list[str]:
    """The rows of the tables whose first column is called "promise"."""
    found, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if re.match(r"\| promise \|", line):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not re.match(r"\|[ :-]+\|", line):
            found.append(line)
    return found


PAGES = [page for page in sorted(GUIDE.glob("*.md")) if rows(page)]


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Names of the files of tests, and of the tests in them."""
    files = list(TESTS.rglob("*.py"))
    texts = (file.read_text(encoding="utf-8") for file in files)
    tests = {name for text in texts for name in re.findall(r"^ *def (test_\w+)", text, re.M)}
    return tests | {file.name for file in files}


def test_there_are_tables() -> None:
    assert {"files", "processes", "loading", "datasets", "trainer"} <= {p.stem for p in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_promises_name_their_tests(page: Path, known: set[str]) -> None:
    for row in rows(page):
        named = _NAMED.findall(row.rpartition(" | ")[2])
        assert named or "| the same" in row, row
        assert not set(named) - known, row


def test_libraries_are_those_that_are_installed_to_be_tried() -> None:
    """Versions of the table, of the programs, and of what `--make` installs for them."""
    folder = TESTS / "parity" / "libraries"
    pinned = dict(
        line.split("==")
        for file in folder.glob("requirements*.txt")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "==" in line
    )
    programs = {file.stem.removeprefix("run_") for file in folder.glob("run_*.py")}
    page = (GUIDE / "programs.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", page, re.M))
    tried = {name.replace("_", "-"): name for name in programs}
    assert shown == {name: pinned[name] for name in tried}
