"""Planted mistakes, and word for word what is said about them.

Each `mistakes/NAME.yaml` is checked as it stands (a folder `mistakes/NAME/`: its files together),
beside the library's dtypes, backends and arguments, and everything that is printed must be what
`mistakes/NAME.txt` holds. A file may say on its first line which of the library's files its entries
refer to: `# with: unary, reduction`.

    python tests/codegen/test_mistakes.py [NAME...]     writes what is printed now
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.loader import default_folder, load, load_texts, read_file
from flambeau.codegen.source import Diagnostics

FOLDER = Path(__file__).parent / "mistakes"
CASES = sorted(p.stem for p in FOLDER.iterdir() if p.suffix == ".yaml" or p.is_dir())
TABLES = ("dtypes", "backends", "common")
_WITH = "# with: "


def printed(case: str) -> str:
    """What is said about a case."""
    single = FOLDER / f"{case}.yaml"
    files = [single] if single.exists() else sorted((FOLDER / case).glob("*.yaml"))
    texts = {}
    for file in files:
        texts[file.name] = read_file(file)
    needed = [*TABLES]
    for text in texts.values():
        first = text.split("\n", 1)[0]
        if first.startswith(_WITH):
            needed += first.removeprefix(_WITH).split(", ")
    for name in dict.fromkeys(needed):
        texts[f"declarations/{name}.yaml"] = read_file(default_folder() / f"{name}.yaml")
    diagnostics = Diagnostics()
    loaded = load_texts(texts, diagnostics)
    diagnostics.extend(run_checks(Context.of(loaded)))
    found = [d for d in diagnostics if not d.span.file.startswith("declarations/")]
    return "\n".join(f"{d.render()}\n" for d in found)


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
