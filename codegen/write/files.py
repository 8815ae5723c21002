"""Templates and files: what every emitter writes through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from flambeau.codegen.write.layout import laid_out

TEMPLATES = Path(__file__).resolve().parent / "templates"
_CPP = (".h", ".cpp", ".cu")
RECORD = ".generated"  # in a generated folder: the names of its files, a line each
STATE = ".generated-from"  # and what they follow from


class Sink(ABC):
    """Receives the text of generated files. Templates see which package is emitted ("": the
    library).
    """

    def __init__(self, package: str = "") -> None:
        self._known = {
            "package": package,
            "prefix": f"{package}." if package else "",  # of the names of kernels
            # Functions of a package are called through Python: others link the library only.
            "api": "" if package else "FLAMBEAU_API ",
        }

    def render(self, template: str, name: str, /, **values: Any) -> None:
        """Prints a template into the file `name`."""
        text = _environment().get_template(template).render(**self._known, **values)
        self.write(name, laid_out(text) if name.endswith(_CPP) else text)

    @abstractmethod
    def write(self, name: str, text: str) -> None:
        """Takes the file `name`."""


class Texts(Sink):
    """Keeps generated files in memory, by name."""

    def __init__(self, package: str = "") -> None:
        super().__init__(package)
        self.files: dict[str, str] = {}

    def write(self, name: str, text: str) -> None:
        self.files[name] = text


class Output(Sink):
    """A folder of generated files. Rewrites only what changed; removes what it wrote earlier and
    does no longer, and nothing else: the names of its files are on record in the folder.
    """

    def __init__(self, folder: Path, package: str = "") -> None:
        super().__init__(package)
        self.folder = folder
        self._recorded = recorded_files(folder)
        self._written: set[str] = set()
        self.changed: list[Path] = []

    def write(self, name: str, text: str) -> None:
        """Writes the file `name` unless it has this text already."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Writes the file `name`, a picture for instance, unless it has these bytes already."""
        path = self.folder / name
        if not _is_inside(path, self.folder):
            raise ValueError(f"generated file {name} would lie outside {self.folder}")
        self._written.add(name)
        if name not in self._recorded:
            self._record(name)
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.changed.append(path)

    def _record(self, name: str) -> None:
        """Before the file is written: a run that is interrupted leaves none that is not known."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / RECORD).open("a", encoding="utf-8") as record:
            record.write(f"{name}\n")
        self._recorded.add(name)

    def remove_stale(self) -> None:
        """Deletes files of earlier runs that this run did not write."""
        stale = self._recorded - self._written
        for name in stale:
            (self.folder / name).unlink(missing_ok=True)
        if stale:
            self._recorded = self._written
            lines = "".join(f"{name}\n" for name in sorted(self._written))
            (self.folder / RECORD).write_text(lines, encoding="utf-8")


def recorded_files(folder: Path) -> set[str]:
    """The names of the files below a folder that the generator wrote."""
    record = folder / RECORD
    names = record.read_text(encoding="utf-8").splitlines() if record.is_file() else []
    return {name for name in names if _is_inside(folder / name, folder)}


def foreign_files(folder: Path) -> list[str]:
    """The names of the files below a folder that the generator did not write."""
    known = recorded_files(folder) | {RECORD, STATE}
    found = (p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir())
    return sorted(name for name in found if name not in known)


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
