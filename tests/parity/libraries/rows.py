"""What is found of a library, and the table of the guide that says so."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

TOLERANCE = 0.01
BEGIN, END = "<!-- libraries -->", "<!-- /libraries -->"
HEAD = [
    "| library | version | what runs | packages | numbers | difference |",
    "|:--|:--|:--|--:|--:|--:|",
]


@dataclass
class Row:
    """A library whose program ran, or was stopped."""

    library: str
    version: str
    packages: int
    numbers: int = 0
    difference: float | None = None
    stopped: str = ""

    @property
    def well(self) -> bool:
        """Whether the program ran, and agrees where it was compared."""
        return not self.stopped and (self.difference is None or self.difference <= TOLERANCE)

    def __str__(self) -> str:
        if self.stopped:
            found = f"stopped: {self.stopped}"
        else:
            compared = "not compared" if self.difference is None else f"{self.difference:.1e}"
            found = f"{self.numbers} numbers, {compared}"
        return f"{self.library:18} {self.version:10} {self.packages:3} packages   {found}"

    def in_table(self, program: Path) -> str:
        """A row in Markdown; what runs is the first paragraph of the program."""
        about = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
        what = " ".join(about.partition("\n\n")[0].partition(": ")[2].split()).removesuffix(".")
        last = self.stopped or ("none" if self.difference == 0 else f"{self.difference:.0e}")
        cells = (self.library, self.version, what, self.packages, self.numbers, last)
        return f"| {' | '.join(map(str, cells))} |"


def write_row(page: Path, program: Path, row: Row) -> None:
    """Puts a row where the table of a page has that of the library, or between the others.

    Raises:
        ValueError: the page has no marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page}: expected the marks {BEGIN} and {END}")
    rows = {line.split()[1]: line for line in table.splitlines() if line.startswith("| ")}
    rows.pop("library", None)
    rows[row.library] = row.in_table(program)
    lines = "\n".join([*HEAD, *(rows[name] for name in sorted(rows))])
    page.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}", encoding="utf-8")
