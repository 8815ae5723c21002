"""Checks the size of files: at most 600 lines, and lines of at most 100 characters.

Lines of declarations, which are formulas and words, may have 120. In templates the length of a
line is that of its output, and other YAML is what tests feed in: there is no limit. The names of
test modules must differ.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("build_tools", "codegen", "declarations", "native", "python", "tests")
SUFFIXES = {".py", ".pyi", ".h", ".cpp", ".cu", ".cuh", ".md", ".yaml", ".jinja", ".css", ".js"}
MAXIMUM_LINES = 600
MAXIMUM_WIDTH = 100
DECLARATIONS_WIDTH = 120
UNLIMITED = {".yaml", ".jinja"}


def files(root: Path) -> Iterator[Path]:
    """What is written by hand."""
    yield from sorted(root.glob("*.md"))
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and "__pycache__" not in path.parts:
                yield path


def mistakes(path: Path) -> Iterator[str]:
    """What is too large in a file, each with its place."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAXIMUM_LINES:
        yield f"{path}:{MAXIMUM_LINES}: the file has {len(lines)} lines, at most {MAXIMUM_LINES}"
    width = DECLARATIONS_WIDTH if path.parts[0] == "declarations" else MAXIMUM_WIDTH
    if path.suffix in UNLIMITED and width == MAXIMUM_WIDTH:
        return
    for number, line in enumerate(lines, 1):
        table = path.suffix == ".md" and line.startswith("|")
        if len(line) > width and not table:
            yield f"{path}:{number}: {len(line)} characters, at most {width}"


def namesakes(paths: Iterable[Path]) -> Iterator[str]:
    """Test modules of one name, which pytest cannot import beside each other."""
    first: dict[str, Path] = {}
    for path in paths:
        if path.parts[0] == "tests" and path.suffix == ".py" and path.name.startswith("test_"):
            other = first.setdefault(path.name, path)
            if other != path:
                yield f"{path}:1: {other} has the same name"


def main() -> int:
    os.chdir(ROOT)
    paths = list(files(Path()))
    found = [text for path in paths for text in mistakes(path)] + list(namesakes(paths))
    print("\n".join(found) or "All files are within the limits.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
