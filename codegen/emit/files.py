"""Templates and files: what every emitter writes through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
# That CPU loops are compiled for, the smallest first.
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


class Sink(ABC):
    """Receives the text of generated files. Templates see which package is emitted ("": the
    library), and for which instruction sets.
    """

    def __init__(
        self, package: str = "", instruction_sets: Sequence[str] = INSTRUCTION_SETS
    ) -> None:
        self._known = {
            "package": package,
            "prefix": f"{package}." if package else "",  # of the names of kernels
            # Functions of a package are called through Python: others link the library only.
            "api": "" if package else "FLAMBEAU_API ",
            "instruction_sets": tuple(instruction_sets),
        }

    def render(self, template: str, name: str, /, **values: Any) -> None:
        """Prints a template into the file `name`."""
        self.write(name, _environment().get_template(template).render(**self._known, **values))

    @abstractmethod
    def write(self, name: str, text: str) -> None:
        """Takes the file `name`."""


class Texts(Sink):
    """Keeps generated files in memory, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def write(self, name: str, text: str) -> None:
        self.files[name] = text


class Output(Sink):
    """A folder of generated files. Rewrites only what changed and removes what is no longer
    emitted."""

    def __init__(
        self,
        folder: Path,
        package: str = "",
        instruction_sets: Sequence[str] = INSTRUCTION_SETS,
    ) -> None:
        super().__init__(package, instruction_sets)
        self.folder = folder
        self._root = folder.resolve()
        self._written: set[Path] = set()
        self.changed: list[Path] = []

    def write(self, name: str, text: str) -> None:
        """Writes the file `name` unless it has this text already."""
        path = self.folder / name
        if not path.resolve().is_relative_to(self._root):
            raise ValueError(f"generated file {name} would lie outside {self.folder}")
        self._written.add(path)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.changed.append(path)

    def remove_stale(self) -> None:
        """Deletes files of earlier runs that this run did not write."""
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and path not in self._written:
                path.unlink()


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
