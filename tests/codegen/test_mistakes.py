"""Planted mistakes, and word for word what is said about them.

Each `mistakes/NAME.yaml` (or the files of a folder `mistakes/NAME/` together) is checked beside the
library's declarations, and what is printed must be what `mistakes/NAME.txt` holds.

    python tests/codegen/test_mistakes.py [NAME...]     writes what is printed now
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.read.loader import (
    Loaded,
    declaration_files,
    load,
    load_texts,
    read_file,
    with_index,
)
from flambeau.codegen.text.folders import default_folder
from flambeau.codegen.text.source import Diagnostics

FOLDER = Path(__file__).parent / "mistakes"
CASES = sorted(p.stem for p in FOLDER.iterdir() if p.suffix == ".yaml" or p.is_dir())
TABLES = ("dtypes", "backends", "common")


@cache
def library() -> Loaded:
    return load(declaration_files(default_folder()), Diagnostics())


def printed(case: str) -> str:
    """What is said about a case."""
    single = FOLDER / f"{case}.yaml"
    files = [single] if single.exists() else sorted((FOLDER / case).glob("*.yaml"))
    texts = {f"declarations/{t}.yaml": read_file(default_folder() / f"{t}.yaml") for t in TABLES}
    texts |= {file.name: read_file(file) for file in files}
    diagnostics = Diagnostics()
    loaded = load_texts(texts, diagnostics)
    operators = (*library().declarations.operators, *loaded.declarations.operators)
    declarations = with_index(replace(loaded.declarations, operators=operators))
    context = Context.of(replace(loaded, declarations=declarations))
    context = replace(context, files=frozenset(file.name for file in files))
    diagnostics.extend(run_checks(context))
    return "\n".join(f"{d.render()}\n" for d in diagnostics)


@pytest.mark.parametrize("case", CASES)
def test_mistake(case: str) -> None:
    expected = (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    assert expected, "every case has a mistake"
    assert printed(case) == expected


def test_there_are_no_leftovers() -> None:
    assert {p.stem for p in FOLDER.glob("*.txt")} == set(CASES)


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        (FOLDER / f"{name}.txt").write_text(printed(name), encoding="utf-8")
