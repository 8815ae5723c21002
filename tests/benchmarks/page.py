"""Pages of the guide that hold what was measured: one per processor, with a table per group.

A run replaces the tables that it measured; those of other groups and processors stay. The README
shows the means.
"""

from __future__ import annotations

import re
from pathlib import Path

MARK = "<!-- benchmarks -->\n"  # in the README, around the means
END = "<!-- /benchmarks -->\n"

Pages = dict[str, dict[str, str]]
"""Texts by processors, then by groups."""


def read(folder: Path) -> Pages:
    """What the pages in a folder hold.

    Raises:
        ValueError: a page begins with no processor.
    """
    pages: Pages = {}
    for path in sorted(folder.glob("*.md")):
        title, _, text = path.read_text(encoding="utf-8").partition("\n")
        if not title.startswith("# "):
            raise ValueError(f"{path} begins with no heading")
        pages[title.removeprefix("# ")] = _by_headings(text)
    return pages


def write(folder: Path, processor: str, about: str, tables: dict[str, str]) -> None:
    """Puts tables of groups into a processor's page; `about` says how they were measured."""
    groups = read(folder).get(processor, {})
    groups.update({group: f"{about}\n\n{table.strip()}" for group, table in tables.items()})
    parts = [f"# {processor}", *(f"## {group}\n\n{groups[group]}" for group in sorted(groups))]
    path = folder / f"{re.sub('[^a-z0-9]+', '_', processor.lower()).strip('_')}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def summary(pages: Pages) -> str:
    """A Markdown table: the geometric mean of the ratios to PyTorch's times, and to NumPy's."""
    lines = ["| processor | group | workloads | to PyTorch | to NumPy |"]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for processor, groups in sorted(pages.items()):
        for group, text in sorted(groups.items()):
            means = dict(re.findall(r"to (PyTorch|NumPy) ([0-9.]+[0-9])", text.splitlines()[-1]))
            count = sum(line.startswith("| ") for line in text.splitlines()) - 2
            shown = " | ".join(means.get(other, "") for other in ("PyTorch", "NumPy"))
            lines.append(f"| {processor} | {group} | {count} | {shown} |")
            processor = ""
    return "\n".join(lines) + "\n"


def write_summary(path: Path, pages: Pages) -> None:
    """Puts the means between the marks of a file.

    Raises:
        ValueError: the file has no marks.
    """
    before, mark, rest = path.read_text(encoding="utf-8").partition(MARK)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"{path} has no lines {MARK.strip()} and {END.strip()}")
    path.write_text(before + MARK + summary(pages) + end + after, encoding="utf-8")


def _by_headings(text: str) -> dict[str, str]:
    """What follows each heading of a group."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    found = (part.partition("\n") for part in parts)
    return {heading.strip(): body.strip() for heading, _, body in found}
