"""Files that cannot be read are mistakes with a place like any other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flambeau.codegen.read.loader import declaration_files, load
from flambeau.codegen.text.source import Diagnostics


def said(*files: Path) -> str:
    diagnostics = Diagnostics()
    load(files, diagnostics)
    return "\n".join(d.render() for d in diagnostics)


def test_missing(tmp_path: Path) -> None:
    file = tmp_path / "missing.yaml"
    assert said(file) == f"{file}:1:1: error: cannot be read: No such file or directory"


def test_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "folder.yaml"
    file.mkdir()
    assert said(file) == f"{file}:1:1: error: cannot be read: Is a directory"


def test_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret.yaml"
    file.touch()
    file.chmod(0)
    if os.access(file, os.R_OK):  # the superuser may read everything

        def refuse(self: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", refuse)
    assert said(file) == f"{file}:1:1: error: cannot be read: Permission denied"


def test_a_pipe(tmp_path: Path) -> None:
    file = tmp_path / "pipe.yaml"
    os.mkfifo(file)
    assert said(file) == f"{file}:1:1: error: cannot be read: it is not a regular file"


def test_a_name_that_no_file_has() -> None:
    assert "error: cannot be read: " in said(Path("a\0b.yaml"))


def test_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("# Größe\n- argument: é\n".encode("latin-1"))
    assert said(file) == (
        f"{file}:1:5: error: byte 0xf6 is not UTF-8\n  hint: save the file as UTF-8"
    )


def test_not_utf8_after_letters_that_are(tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_bytes("# one\n# é ".encode() + b"\xff\n")
    assert said(file).startswith(f"{file}:2:5: error: byte 0xff is not UTF-8")


def test_a_missing_folder_is_not_an_empty_one(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"
    assert said(*declaration_files(folder)).startswith(f"{folder}:1:1: error: cannot be read: No")


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "link.yaml"
    file.symlink_to(tmp_path / "target.yaml")
    assert said(file) == f"{file}:1:1: error: cannot be read: No such file or directory"


@pytest.mark.parametrize("name", ["a b.yaml", "é.yaml", "..yaml", "-x.yaml", "a.b.yaml", "1.yaml"])
def test_names_that_generated_files_cannot_have(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("- argument: x\n  doc: y\n")
    assert said(file).startswith(f"{file}:1:1: error: a file of declarations is called NAME.yaml")
