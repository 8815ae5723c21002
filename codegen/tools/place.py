"""Where a command works: in a tree of Flambeau, in a package of operators, or in neither.

The folder that one stands in counts, or that of the file which is named: of a tree, its own
declarations and functions of formulas; of a package, its declarations beside those of the library.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from flambeau.codegen.text.folders import (
    default_folder,
    function_files,
    library_folder,
    yaml_files,
)

if TYPE_CHECKING:
    from flambeau.extension.project import Project

FOLDER = "declarations"
CONFIGURATION = "pyproject.toml"


class UsageError(Exception):
    """A command that cannot be carried out as it was given: exit code 2."""


@dataclass(frozen=True, slots=True)
class Place:
    """`library`: the folder of the library's declarations; `project`: the package of operators."""

    library: Path
    project: Project | None = None
    is_inside: bool = True  # one works at the library, or at the package

    @property
    def folder(self) -> Path:
        """Of the declarations that one works at."""
        return self.project.declarations_folder if self.project is not None else self.library


def find_place(start: Path) -> Place:
    """The place of a folder, and of all below it."""
    project: Project | None = None
    for folder in (start.resolve(), *start.resolve().parents):
        if is_tree(folder):
            return Place(folder / FOLDER, project)
        if project is None and is_package(folder):
            project = begun(folder)
    return Place(default_folder(), project, project is not None)


def is_tree(folder: Path) -> bool:
    """Whether a folder is Flambeau's repository."""
    has_functions = bool(function_files(folder / FOLDER))
    return has_functions and (folder / "codegen" / "tools" / "cli.py").is_file()


def is_package(folder: Path) -> bool:
    """Whether a folder holds a package of operators; what is installed is none."""
    if (folder / "__init__.py").exists():
        return False
    configuration = folder / CONFIGURATION
    if configuration.is_file():
        text = configuration.read_text(encoding="utf-8", errors="replace")
        if "flambeau.extension" in text or "[tool.flambeau]" in text:
            return True
    return bool(yaml_files(folder / FOLDER))


def begun(folder: Path) -> Project:
    """The package in a folder, which may hold nothing yet.

    Raises:
        UsageError: its configuration is wrong, or its name cannot be that of a module.
    """
    # Not where a wheel is built: the generator is alone there, and reads the tree.
    from flambeau._build.compiler import BuildError
    from flambeau.extension.project import read_settings

    try:
        return read_settings(folder)
    except BuildError as error:
        raise UsageError(str(error)) from None


@contextmanager
def placed(options: argparse.Namespace) -> Iterator[None]:
    """Settles, for commands that read declarations, which ones: `options.place`."""
    if "declarations" not in options:
        yield
        return
    given: Path | None = options.declarations
    options.place = find_place(options.start(options)) if given is None else Place(given)
    options.declarations = options.place.library
    _tell_of_generator(options.place.library.parent)
    if function_files(options.declarations):
        with library_folder(options.declarations.resolve()):
            yield
    else:
        yield


def _tell_of_generator(tree: Path) -> None:
    """The generator that runs may know other keys than the tree that it reads."""
    running = Path(__file__).resolve().parents[1]
    own = tree.resolve() / "codegen"
    if is_tree(tree) and own != running and _digest(own) != _digest(running):
        print(
            f"note: {own} is not the generator that runs, {running}: what differs between them "
            "may be reported as mistakes. Build the tree, and put the build on PYTHONPATH.",
            file=sys.stderr,
        )


def _digest(folder: Path) -> bytes:
    """Of a generator's sources."""
    files = sorted(f for f in folder.rglob("*") if f.suffix in (".py", ".jinja"))
    texts = (str(f.relative_to(folder)).encode() + f.read_bytes() for f in files)
    return sha256(b"\0".join(texts)).digest()
