"""What was read of declarations is the same when another process made it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.codegen.formula.nodes import Name
from flambeau.codegen.read.kept import kept
from flambeau.codegen.text.excerpt import source_line
from flambeau.codegen.text.source import Span, Text

LONG = "x" * 200_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "declarations"


def reading(value: object, sound: bool = True) -> object:
    return kept({"a.yaml": LONG}, lambda: (value, sound))


def test_it_is_read_once(folder: Path) -> None:
    span = Span("a.yaml", 1, 2, used=Span("b.yaml", 3, 4))
    value = (Text("é", span), Name("x", span=span), frozenset("ab"))
    assert reading(value) == value
    assert len(list(folder.iterdir())) == 1
    found = reading("another")
    assert found == value
    assert found[0].span.used == span.used and found[1].span == span  # which `==` leaves out


def test_lines_can_be_quoted() -> None:
    for _ in range(2):
        kept({"quoted.yaml": f"first\n{LONG}"}, lambda: (1, True))
    assert source_line("quoted.yaml", 1) == "first"


def test_hashes_of_another_process(tmp_path: Path) -> None:
    """Trees are keys of tables, and each process hashes strings in its own way."""
    program = (
        "from flambeau.codegen.formula.nodes import Name\n"
        "from flambeau.codegen.read.kept import kept\n"
        "tree = Name('x')\n"
        "assert {tree: 1}\n"
        f"found = kept({{'a.yaml': {'x' * 10!r} * 20_000}}, lambda: (tree, True))\n"
        "assert {Name('x'): 1}[found] == 1\n"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert len(list((tmp_path / "cache" / "declarations").iterdir())) == 1


@pytest.mark.parametrize("change", ["text", "name"])
def test_what_it_follows_from(folder: Path, change: str) -> None:
    reading(1)
    texts = {"b.yaml": LONG} if change == "name" else {"a.yaml": LONG + "y"}
    assert kept(texts, lambda: (2, True)) == 2
    assert len(list(folder.iterdir())) == 2


def test_mistakes_are_found_each_time(folder: Path) -> None:
    assert reading(1, sound=False) == 1
    assert reading(2, sound=False) == 2
    assert not folder.exists()


def test_little_is_read_each_time(folder: Path) -> None:
    assert kept({"a.yaml": "- op: f"}, lambda: (1, True)) == 1
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_damaged_files_are_made_anew(folder: Path, damage: str) -> None:
    reading((1, "a"))
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    at = len(whole) // 2
    cut = whole[:at]
    damaged = {"cut": cut, "changed": cut + b"?" + whole[at + 1 :], "empty": b""}
    file.write_bytes(damaged[damage])
    assert reading((2, "b")) == (2, "b")
    assert reading(3) == (2, "b")


def test_folders_that_cannot_be_written(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file")
    assert reading(1) == 1
    assert reading(2) == 2


def test_few_are_kept(folder: Path) -> None:
    for number in range(6):
        kept({"a.yaml": f"{LONG}{number}"}, lambda: (0, True))
    assert len(list(folder.iterdir())) == 4
