"""The command `python -m flambeau.codegen`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import SAMPLE

from flambeau.codegen.cli import main
from flambeau.codegen.loader import default_folder


@pytest.fixture
def declarations(tmp_path: Path) -> Path:
    """The tables and functions of the library, and the sample."""
    folder = tmp_path / "declarations"
    folder.mkdir()
    for name in ("dtypes", "backends", "common", "functions"):
        shutil.copy(default_folder() / f"{name}.yaml", folder)
    (folder / "sample.yaml").write_text(SAMPLE, encoding="utf-8")
    return folder


def check(folder: Path, *options: str) -> int:
    return main(["check", "--structure", "--declarations", str(folder), *options])


def test_kernels_are_asked_for_where_there_are_sources(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package has no folder of kernels; a tree has one, and it must hold them."""
    assert check(declarations) == 0
    native = declarations.parent / "native"
    native.mkdir()
    assert check(declarations) == 1
    assert "cpu/indexing/nonzero.cpp does not exist" in capsys.readouterr().out
    assert check(declarations, "--no-kernels") == 0


def test_a_named_folder_of_kernels_is_used(declarations: Path) -> None:
    assert check(declarations, "--native", str(declarations.parent / "elsewhere")) == 1
