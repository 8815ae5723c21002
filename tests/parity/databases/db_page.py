"""The table of results in the guide: written between two marks of a page, from reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from db_tally import OUTCOMES

BEGIN, END = "<!-- databases -->", "<!-- /databases -->"
_DATABASES = {"op_db": "operators", "module_db": "modules", "optim_db": "optimizers"}
_STATES = ("pass", "wanted", "fail", "missing", "skipped")
_LONGEST = 90


def merged(paths: Sequence[Path]) -> dict[str, Any]:
    """The reports of several shards as one. What a later one holds was run again: it counts."""
    whole: dict[str, Any] = {"about": {}, "entries": {}, "names": {}, "again": 0}
    for path in paths:
        report = json.loads(path.read_text(encoding="utf-8"))
        whole["again"] += len(whole["entries"].keys() & report["entries"].keys())
        whole["entries"].update(report["entries"])
        whole["names"].update(report.get("names", {}))
        whole["about"].update(report["about"])
    return whole


def write_page(page: Path, report: dict[str, Any]) -> None:
    """Replaces what stands between the marks of a page.

    Raises:
        ValueError: the page has no marks.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page}: expected the marks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{results(report)}\n{END}{after}", encoding="utf-8")


def results(report: dict[str, Any]) -> str:
    """Tables in Markdown: entries, categories, failures, names."""
    about = report["about"]
    said = f"Measured on {about['date']} against PyTorch {about['torch']}"
    if report["again"]:
        said += f"; {report['again']} entries were run again after mends"
    said += "."
    parts = [said, _entries(report["entries"]), _categories(report["entries"])]
    parts.append(_failures(report["entries"]))
    parts += [_names(file, found) for file, found in report["names"].items()]
    return "\n\n".join(part for part in parts if part)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join([_row(*head), _row(*rule), *(_row(*row) for row in rows)])


def _entries(entries: dict[str, Any]) -> str:
    """Entries of each database by what becomes of them."""
    counts = {database: Counter[str]() for database in _DATABASES}
    for entry in entries.values():
        counts[entry["database"]][entry["state"]] += 1
    head = ["entries of", "all", *_STATES]
    rows = [
        [_DATABASES[database], count.total(), *(count[state] for state in _STATES)]
        for database, count in counts.items()
    ]
    return _table(head, rows)


def _categories(entries: dict[str, Any]) -> str:
    """Entries and cases of each category."""
    states: dict[str, Counter[str]] = {}
    cases: dict[str, Counter[str]] = {}
    for entry in entries.values():
        for category, found in entry["categories"].items():
            states.setdefault(category, Counter())[found["state"]] += 1
            counted = {word: found.get(word, 0) for word in OUTCOMES}
            cases.setdefault(category, Counter()).update(counted)
    head = ["what is compared", "entries", "fail", "cases", "equal", "fail", "missing", "explained"]
    rows = [
        [
            category,
            states[category].total(),
            states[category]["fail"],
            count.total() - count["skipped"],
            *(count[word] for word in ("pass", "fail", "missing", "wanted")),
        ]
        for category, count in cases.items()
    ]
    return _table(head, rows)


def _failures(entries: dict[str, Any]) -> str:
    """The entries that do not pass, each with where, and the shortest failure."""
    rows = []
    for name, entry in sorted(entries.items()):
        bad = {c: f for c, f in entry["categories"].items() if f["state"] in ("fail", "missing")}
        if bad:
            rows.append([f"`{name}`", ", ".join(bad), _seen(bad)])
    if not rows:
        return "Every entry passes."
    return _table(["entry", "where", "what is seen"], rows).replace("---:", "---")


def _seen(categories: dict[str, Any]) -> str:
    failures = [one for found in categories.values() for one in found.get("failures", ())]
    if not failures:
        return ", ".join(sorted({n for found in categories.values() for n in found["lacks"]}))
    text = min(failures, key=lambda one: len(one["call"]))["symptom"].replace("|", "\\|")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _names(file: str, found: dict[str, Any]) -> str:
    """How many public names are there; the namespaces where some are missing."""
    rows = []
    for space, missing in sorted(found["missing"].items()):
        asked = found["asked"][space]
        listed = ", ".join(f"`{name}`" for name in sorted(missing))
        rows.append([f"`{space}`", asked, asked - len(missing), listed])
    every = sum(found["asked"].values())
    lacking = sum(map(len, found["missing"].values()))
    said = f"Public names of `{file}`: {every - lacking} of {every}"
    whole = len(found["asked"]) - len(rows)
    if not rows:
        return f"{said}."
    head = ["namespace", "names", "there", "missing"]
    said += f"; {whole} of {len(found['asked'])} namespaces are whole, the others are these."
    return f"{said}\n\n{_table(head, rows)}".replace("---: |\n", "--- |\n", 1)
