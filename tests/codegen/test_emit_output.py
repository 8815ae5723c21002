"""The folder of generated files: what is written, rewritten, removed, refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import small_library

from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.write.everything import emit_everything
from flambeau.codegen.write.files import RECORD, Output, foreign_files, recorded_files


def test_writes_only_what_changed(tmp_path: Path) -> None:
    first = Output(tmp_path)
    first.write("a/b.txt", "one")
    first.write("c.txt", "two")
    assert sorted(p.name for p in first.changed) == ["b.txt", "c.txt"]
    before = (tmp_path / "c.txt").stat().st_mtime_ns
    second = Output(tmp_path)
    second.write("a/b.txt", "other")
    second.write("c.txt", "two")
    assert [p.name for p in second.changed] == ["b.txt"]
    assert (tmp_path / "c.txt").stat().st_mtime_ns == before


def test_removes_what_is_no_longer_written(tmp_path: Path) -> None:
    first = Output(tmp_path)
    first.write("old/file.txt", "x")
    first.write("kept.txt", "x")
    second = Output(tmp_path)
    second.write("kept.txt", "x")
    second.remove_stale()
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == [RECORD, "kept.txt"]
    assert recorded_files(tmp_path) == {"kept.txt"}


def test_removes_only_what_it_wrote(tmp_path: Path) -> None:
    """Nor does a record that was tampered with lead out of the folder."""
    inside = tmp_path / "inside"
    Output(inside).write("old.txt", "x")
    (inside / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("mine", encoding="utf-8")
    with (inside / RECORD).open("a", encoding="utf-8") as record:
        record.write("../outside.txt\n")
    assert foreign_files(inside) == ["mine.txt"]
    Output(inside).remove_stale()
    assert sorted(p.name for p in tmp_path.rglob("*.txt")) == ["mine.txt", "outside.txt"]


def test_an_interrupted_run_leaves_nothing_unknown(tmp_path: Path) -> None:
    Output(tmp_path).write("a/half.txt", "x")
    assert foreign_files(tmp_path) == []


@pytest.mark.parametrize("name", ["../outside.txt", "a/../../outside.txt", "/tmp/outside.txt"])
def test_refuses_to_write_outside(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inside"
    with pytest.raises(ValueError, match="outside"):
        Output(folder).write(name, "x")
    assert not (tmp_path / "outside.txt").exists()


def test_refuses_to_write_through_a_link(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "inside", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "link").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="outside"):
        Output(folder).write("link/file.txt", "x")
    assert not list(elsewhere.iterdir())


def test_everything_twice_changes_nothing(tmp_path: Path) -> None:
    declarations = load_declarations(small_library(tmp_path / "declarations"))
    generated = tmp_path / "generated"
    assert emit_everything(declarations, generated).changed
    assert not emit_everything(declarations, generated).changed


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    """Whatever a declaration is called, its files lie below the folder."""
    declarations = load_declarations(small_library(tmp_path / "declarations"))
    emit_everything(declarations, tmp_path / "inside")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["declarations", "inside"]


def test_an_edit_of_words_changes_no_code(tmp_path: Path) -> None:
    """Generated code names entries without their lines: only documentation
    and docstrings follow an edit that says more, in more lines.
    """
    folder = small_library(tmp_path / "declarations")
    generated = tmp_path / "generated"
    emit_everything(load_declarations(folder), generated)
    for file in ("pointwise/activation.yaml", "reduce/reduction.yaml"):
        text = (folder / file).read_text(encoding="utf-8")
        first = text.index("  summary: ")
        more = '  notes: "More words."\n  # And a comment.\n'
        (folder / file).write_text(text[:first] + more + text[first:], encoding="utf-8")
    changed = {p.relative_to(generated) for p in emit_again(folder, generated)}
    assert {Path("docs/operators/relu.md"), Path("package/lib/docstrings.txt")} <= changed
    assert {p.suffix for p in changed} <= {".md", ".txt", ".pyi"}


def emit_again(folder: Path, generated: Path) -> list[Path]:
    return emit_everything(load_declarations(folder), generated).changed
