"""The text of a ninja file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


class NinjaWriter:
    """Collects variables, rules and edges in the order they are given."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def line(self, text: str) -> None:
        self._lines.append(text)

    def variable(self, name: str, value: str, depth: int = 0) -> None:
        self._lines.append(f"{'  ' * depth}{name} = {value}")

    def rule(self, name: str, **variables: str) -> None:
        self._lines.append(f"rule {name}")
        for key, value in variables.items():
            self.variable(key, value, depth=1)

    def build(
        self,
        target: str,
        rule: str,
        inputs: Sequence[str],
        *,
        implicit: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`implicit` inputs make the target old, but are not part of $in."""
        parts = [f"build {_path(target)}: {rule}", *map(_path, inputs)]
        if implicit:
            parts += ["|", *map(_path, implicit)]
        self._lines.append(" ".join(parts))
        for key, value in (variables or {}).items():
            self.variable(key, value, depth=1)

    def default(self, target: str) -> None:
        self._lines.append(f"default {_path(target)}")

    def write(self, path: Path) -> Path:
        """Writes the file, unless it holds this text already."""
        write_if_changed(path, "\n".join(self._lines) + "\n")
        return path


def write_if_changed(path: Path, text: str) -> None:
    """Writes a file, unless it holds this text already: what is made from it stays new."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _path(text: str) -> str:
    return text.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
