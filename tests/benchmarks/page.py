"""The page of the guide that holds what was measured: a section per processor, a table per group.

A run replaces the tables that it measured; those of other groups and processors stay. The README
shows the means.
"""

from __future__ import annotations

import re
from pathlib import Path

# Ahead of the sections, which are the rest of the page; in the README, ahead of the means.
MARK = "<!-- benchmarks -->\n"
END = "<!-- /benchmarks -->\n"  # in the README

Sections = dict[str, dict[str, str]]
"""Texts by headings: a processor, then a group, or "" for what stands before the groups."""


def read(page: str) -> tuple[str, Sections]:
    """What stands before the sections, and these.

    Raises:
        ValueError: the page has no mark.
    """
    before, mark, rest = page.partition(MARK)
    if not mark:
        raise ValueError(f"the page has no line {MARK.strip()}")
    return before, {
        processor: _by_headings(text, "### ")
        for processor, text in _headed(rest, "## ")
        if processor
    }


def write(path: Path, processor: str, about: str, tables: dict[str, str]) -> None:
    """Puts tables of groups into a page; `about` says how they were measured."""
    before, sections = read(path.read_text(encoding="utf-8"))
    groups = sections.setdefault(processor, {})
    groups.update({group: f"{about}\n\n{table.strip()}" for group, table in tables.items()})
    parts = [
        f"## {name}\n\n" + "\n\n".join(f"### {group}\n\n{found[group]}" for group in sorted(found))
        for name, found in sorted(sections.items())
    ]
    path.write_text(before + MARK + "\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


def summary(sections: Sections) -> str:
    """A Markdown table: the geometric mean of the ratios to PyTorch's times, and to NumPy's."""
    lines = ["| processor | group | workloads | to PyTorch | to NumPy |"]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for processor, groups in sorted(sections.items()):
        for group, text in sorted(groups.items()):
            means = dict(re.findall(r"to (PyTorch|NumPy) ([0-9.]+[0-9])", text.splitlines()[-1]))
            count = sum(line.startswith("| ") for line in text.splitlines()) - 2
            shown = " | ".join(means.get(other, "") for other in ("PyTorch", "NumPy"))
            lines.append(f"| {processor} | {group} | {count} | {shown} |")
            processor = ""
    return "\n".join(lines) + "\n"


def write_summary(path: Path, sections: Sections) -> None:
    """Puts the means between the marks of a file.

    Raises:
        ValueError: the file has no marks.
    """
    before, mark, rest = path.read_text(encoding="utf-8").partition(MARK)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"{path} has no lines {MARK.strip()} and {END.strip()}")
    path.write_text(before + MARK + summary(sections) + end + after, encoding="utf-8")


def _by_headings(text: str, mark: str) -> dict[str, str]:
    return {heading: body.strip() for heading, body in _headed(text, mark) if heading}


def _headed(text: str, mark: str) -> list[tuple[str, str]]:
    """Headings, and what follows each; first "" with what stands before all."""
    first, *others = re.split(rf"^{mark}", text, flags=re.MULTILINE)
    found = [("", first)]
    for other in others:
        heading, _, body = other.partition("\n")
        found.append((heading.strip(), body))
    return found
