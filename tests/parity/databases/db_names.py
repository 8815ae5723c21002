"""How many of the public names that are listed in files Flambeau has."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flambeau


@dataclass(slots=True)
class Names:
    """A file's names by namespace: all of them, and those that are missing."""

    file: str
    asked: dict[str, int] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)


def counted(folder: Path) -> list[Names]:
    """Every `*.txt` of a folder: one name a line, that begins with `torch.`."""
    return [_of_file(path) for path in sorted(folder.glob("*.txt"))]


def _of_file(path: Path) -> Names:
    asked: defaultdict[str, int] = defaultdict(int)
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").split():
        space, _, name = line.rpartition(".")
        asked[space] += 1
        if not is_there(line):
            missing[space].append(name)
    return Names(path.stem, dict(asked), dict(missing))


def is_there(name: str) -> bool:
    """Whether Flambeau has what PyTorch calls so."""
    value: Any = flambeau
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def readable(found: list[Names]) -> str:
    """A table for every file, and what is missing."""
    lines = []
    for names in found:
        total, lacking = sum(names.asked.values()), sum(map(len, names.missing.values()))
        share = (total - lacking) / max(total, 1)
        lines.append(f"\n== names of {names.file}: {total - lacking} of {total} ({share:.1%})")
        for space, count in sorted(names.asked.items()):
            there = count - len(names.missing.get(space, ()))
            lines.append(f"{there:5} of {count:4} {there / count:6.1%} {space}")
        for space, missing in sorted(names.missing.items()):
            lines.append(f"missing in {space}: {', '.join(sorted(missing))}")
    return "\n".join(lines)
