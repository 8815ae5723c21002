"""Loading of declarations with planted mistakes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.read.loader import Loaded, load_texts
from flambeau.codegen.text.folders import default_folder
from flambeau.codegen.text.source import Diagnostic, Diagnostics

SAMPLE = (Path(__file__).parent / "samples" / "every_kind.yaml").read_text(encoding="utf-8")
TABLES = {
    f"declarations/{name}.yaml": (default_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    for name in ("dtypes", "backends", "common")
}


@dataclass(frozen=True)
class Place:
    """Where a mistake is expected: the text between « and »."""

    line: int
    column: int
    length: int


def marked(text: str) -> tuple[str, Place]:
    """The text without « and », and the place they stand around."""
    before = text[: text.index("«")]
    inside = text[len(before) + 1 : text.index("»")]
    place = Place(before.count("\n") + 1, len(before.split("\n")[-1]) + 1, len(inside))
    return text.replace("«", "").replace("»", ""), place


def load_text(text: str, file: str = "sample.yaml") -> tuple[Loaded, list[Diagnostic]]:
    """Load a text beside the library's tables."""
    diagnostics = Diagnostics()
    loaded = load_texts({**TABLES, file: text}, diagnostics)
    return loaded, diagnostics.sorted()


def check_text(text: str, native: Path | None = None) -> list[Diagnostic]:
    """What loading and the structural checks find in a text."""
    loaded, found = load_text(text)
    context = Context.of(loaded, native)
    return [*found, *run_checks(context, computing=False)]


def sample_operator(name: str, text: str = SAMPLE) -> Operator:
    """An operator of the sample."""
    loaded, found = load_text(text)
    assert not found, "\n".join(d.render() for d in found)
    return next(o for o in loaded.declarations.operators if o.full_name == name)


def plant(old: str, new: str) -> tuple[str, Place]:
    """The sample with `old`, which it holds once, replaced by `new`, which marks the mistake."""
    assert SAMPLE.count(old) == 1, f"{old!r} stands {SAMPLE.count(old)} times in the sample"
    return marked(SAMPLE.replace(old, new))


def assert_found(found: list[Diagnostic], place: Place, message: str) -> Diagnostic:
    """One diagnostic has the message and stands at the place."""
    listing = "\n".join(d.render() for d in found) or "(nothing)"
    matching = [d for d in found if message in d.message]
    assert matching, f"no message {message!r} in\n{listing}"
    span = matching[0].span
    assert Place(span.line, span.column, span.length) == place, listing
    return matching[0]


def sample_folder(parent: Path) -> Path:
    """A folder with the tables and functions of the library, and the sample."""
    folder = parent / "declarations"
    folder.mkdir()
    for name in ("dtypes", "backends", "common", "functions", "shape_functions"):
        shutil.copy(default_folder() / f"{name}.yaml", folder)
    (folder / "sample.yaml").write_text(SAMPLE, encoding="utf-8")
    return folder
