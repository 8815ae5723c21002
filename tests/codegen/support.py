"""Loading of declarations with planted mistakes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.formula import nodes
from flambeau.codegen.model.entries import Doc, Operator, Test
from flambeau.codegen.read.loader import Loaded, library_declarations, load_texts
from flambeau.codegen.text.folders import default_folder, function_files, yaml_files
from flambeau.codegen.text.source import Diagnostic, Diagnostics, Text
from flambeau.codegen.text.tree import Mapping

SAMPLE = (Path(__file__).parent / "samples" / "every_kind.yaml").read_text(encoding="utf-8")
TABLES = {
    f"declarations/{name}.yaml": (default_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    for name in ("dtypes", "backends", "common")
}

# What the formulas of new entries call; operators that commands are tried on.
OF_SMALL_LIBRARY = frozenset(
    (
        *("abs", "add", "cat", "div", "expand_reduced", "mul", "narrow", "sub", "sum"),
        *("dropout", "gelu", "matmul", "max", "relu", "relu6", "silu", "zeros_like"),
    )
)


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
    for name in ("dtypes", "backends", "common"):
        shutil.copy(default_folder() / f"{name}.yaml", folder)
    shutil.copytree(default_folder() / "functions", folder / "functions")
    (folder / "sample.yaml").write_text(SAMPLE, encoding="utf-8")
    return folder


@cache
def _small_library() -> dict[Path, str]:
    """The files of `small_library`, by their places in its folder."""
    library = library_declarations()
    pending = [o for o in library.operators if o.name in OF_SMALL_LIBRARY or o.operator or o.role]
    names: set[str] = set()
    while pending:
        operator = pending.pop()
        if operator.full_name not in names:
            names.add(operator.full_name)
            pending += [o for called in _calls(operator) for o in library.by_name.get(called, ())]
    found = {}
    for path in (*yaml_files(default_folder()), *function_files(default_folder())):
        text = path.read_text(encoding="utf-8")
        if re.search("^- (op|helper|each):", text, re.MULTILINE):
            entries = re.split("^(?=- )", text, flags=re.MULTILINE)
            kept = [e for e in entries if _is_kept(e, names)]
            if not any(e.startswith(("- op:", "- helper:")) for e in kept):
                continue
            text = "".join(kept)
        found[path.relative_to(default_folder())] = text
    beside = [*default_folder().rglob("*.py"), *default_folder().glob("*.json")]
    return found | {p.relative_to(default_folder()): p.read_text("utf-8") for p in beside}


def _calls(operator: Operator) -> Iterator[str]:
    """The functions that formulas of any purpose call."""
    pending: list[object] = [getattr(operator, f.name) for f in fields(operator)]
    while pending:
        value = pending.pop()
        if isinstance(value, nodes.Call):
            yield value.function
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, tuple | list):
            pending += value
        elif is_dataclass(value) and not isinstance(value, Text | Mapping | Test | Doc):
            pending += [getattr(value, f.name) for f in fields(value)]


def _is_kept(entry: str, names: set[str]) -> bool:
    match = re.match(r"- (?:op|helper): *['\"]?([\w.]+)", entry)
    return not entry.startswith("- each:") and (match is None or match[1] in names)


def small_library(folder: Path) -> Path:
    """A folder with the part of the library that what `ops new` writes calls: loading and emitting
    all of it takes ten times as long.
    """
    for path, text in _small_library().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder
