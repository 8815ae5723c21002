"""CONTRIBUTING says which folders there are, and what lies where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from flambeau.codegen.text.folders import rooms, yaml_files

ROOT = Path(__file__).resolve().parents[2]
DECLARATIONS = ROOT / "declarations"


def tabled(heading: str) -> list[str]:
    """The folders in the first column of the table below a heading."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, table = text.partition(f"| {heading} | what lives there |\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def folders(parent: Path) -> Iterator[str]:
    for path in sorted(parent.iterdir()):
        if path.is_dir() and not path.name.startswith((".", "__")):
            yield path.name


def test_folders_exist() -> None:
    written = [name.rstrip("/") for name in tabled("folder")]
    assert len(written) > 10
    for name in written:
        assert list(ROOT.glob(name.replace("ROOM", "*"))), name
    inside = {Path(name).name for name in written if name.startswith("native/")}
    assert inside == set(folders(ROOT / "native"))


def test_rooms_of_the_generator() -> None:
    assert sorted(tabled("room of `codegen/`")) == sorted(folders(ROOT / "codegen"))


def test_rooms_of_declarations() -> None:
    assert sorted(tabled("room of `declarations/`")) == rooms(DECLARATIONS)


def test_operators_lie_in_rooms() -> None:
    """Beside the rooms stands what all of them share."""
    for file in yaml_files(DECLARATIONS):
        has_operators = (
            re.search(r"(?m)^- (op|helper):", file.read_text(encoding="utf-8")) is not None
        )
        assert has_operators == (file.parent != DECLARATIONS), file
