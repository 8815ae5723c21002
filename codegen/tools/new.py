"""Write a new entry and the kernel file that its kind needs: a small operator to be changed into
yours. It is complete and correct: it passes `check` and builds as it is.

  new softclip --kind pointwise --file activation
  new gale --kind pointwise --file special/winds

In a tree of Flambeau the entry becomes one of the library's, whose files lie in rooms, in a package
of operators one of the package's; anywhere else, a package is begun in the current folder, unless
--file is a path. Nothing that exists is overwritten: an entry is put at the end of its file, and an
operator or a kernel of that name is an error.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flambeau.codegen.model.entries import Declarations, Kind
from flambeau.codegen.read.expand.families import FAMILY, content, read_head
from flambeau.codegen.read.loader import declaration_files, load_texts, read_files
from flambeau.codegen.text.folders import rooms, yaml_files
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.text.tree import Mapping, Sequence, parse_yaml
from flambeau.codegen.tools.common import (
    OK,
    add_folder,
    files_of,
    folder_of,
    load_place,
    shown,
)
from flambeau.codegen.tools.place import CONFIGURATION, FOLDER, Place, UsageError, begun

NAME = "new"
HELP = "write a new entry to start from"
_NAME = re.compile(r"[a-z][a-z0-9_]*[a-z0-9](\.[A-Za-z][A-Za-z0-9_]*)?")
_OPERATOR = re.compile("^- *(op|helper|each):", re.MULTILINE)
SCHEMA = "schema.json"  # beside the library's declarations
SUFFIX = ".yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the operator: NAME or NAME.OVERLOAD")
    parser.add_argument(
        "--kind", choices=[k.value for k in Kind], required=True, help="what it is made from"
    )
    parser.add_argument(
        "--file",
        metavar="FAMILY",
        help="the file of declarations, by name, ROOM/NAME or path (default: NAME.yaml)",
    )
    parser.add_argument(
        "--native",
        type=Path,
        metavar="DIR",
        help="the folder of the kernels (default: native/ beside the library's declarations, "
        "kernels/ of a package)",
    )
    add_folder(parser, lambda options: _path(options) or Path())


def _path(options: argparse.Namespace) -> Path | None:
    """The folder of a file that is given by its path, and not by its name or ROOM/NAME."""
    given = Path(options.file or "")
    is_path = given.is_absolute() or given.suffix == SUFFIX or given.parts[:1] == ("..",)
    return given.parent if is_path and os.sep in options.file else None


@dataclass(frozen=True, slots=True)
class Kernel:
    """Where a kernel goes, and what its entry and its code call it."""

    path: Path
    name: str  # in the entry
    header: str  # that declares it


@dataclass(frozen=True, slots=True)
class Addition:
    """Text to be put at the end of a file."""

    path: Path
    text: str
    head: str  # of a new file
    must_be_new: bool = False


def run(options: argparse.Namespace) -> int:
    project = _begin(options) if _path(options) is None else []
    diagnostics = Diagnostics()
    declarations = load_place(options, (), diagnostics).declarations
    diagnostics.raise_if_any()
    _check_name(options.name, declarations)
    file = _file(options)
    kind = Kind(options.kind)
    kernel = _kernel(options, file) if kind is Kind.STRUCTURED else None
    found = additions(options.name, kind, file, folder_of(options), kernel)
    for addition in found:
        if addition.must_be_new and addition.path.exists():
            raise UsageError(f"{addition.path} exists already")
    _check_entry(options, found[0])
    for addition in (*project, *found):
        append(addition)
    print(f"\nnext: edit {file}, then")
    for command in _next(options, file):
        print(f"  {command}")
    return OK


def _begin(options: argparse.Namespace) -> list[Addition]:
    """Where nothing is that an entry could be added to, a package of operators is begun."""
    place: Place = options.place
    if place.is_inside:
        return []
    project = begun(Path())
    options.place = Place(place.library, project)
    configuration = project.root / CONFIGURATION
    if configuration.exists():
        return []
    return [Addition(shown(configuration), _PROJECT.format(name=project.module), "")]


_PROJECT = """[build-system]
requires = ["flambeau", "hatchling"]
build-backend = "flambeau.extension"

[project]
name = "{name}"
version = "0.1.0"
dependencies = ["flambeau"]
"""


def _check_name(name: str, declarations: Declarations) -> None:
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"'{name}' is not a name: lower-case letters, digits and _, as in soft_clip"
        )
    for operator in declarations.operators:
        same = (operator.full_name, operator.identifier, *operator.aliases)
        if name in same or name.replace(".", "_") in same:
            raise UsageError(f"'{name}' is declared already, at {operator.span}")


def _file(options: argparse.Namespace) -> Path:
    """`activation`, `activation.yaml`, `pointwise/activation` or a path."""
    given: str = options.file or options.name.partition(".")[0]
    path = Path(given if given.endswith(SUFFIX) else f"{given}{SUFFIX}")
    if not path.stem.isidentifier():
        raise UsageError(f"'{path.stem}' is not a name for a file of declarations")
    place: Place = options.place
    if _path(options) is None:
        path = _of_family(path, shown(place.folder))
    if not path.parent.is_dir() and place.project is None:
        raise UsageError(f"there is no folder {path.parent}")
    above = (p.parent for p in path.resolve().parents if p.name == FOLDER)
    if any((folder / "__init__.py").exists() for folder in above):
        raise UsageError(f"{path} belongs to an installed package: give another --file")
    return path


def _of_family(name: Path, folder: Path) -> Path:
    """The file of a family, in whichever room. A new one lies in the room that its name gives."""
    found = next((file for file in yaml_files(folder) if file.name == name.name), None)
    if found is not None and name.parent in (Path(), found.parent.relative_to(folder)):
        return found
    there = rooms(folder)
    if there and name.parent == Path():
        raise UsageError(
            f"there is no family '{name.stem}': say in which room it begins, "
            f"--file ROOM/{name.stem}, of {', '.join(there)}"
        )
    return folder / name


def _kernel(options: argparse.Namespace, file: Path) -> Kernel:
    """The kernel of an operator of a file: the library sorts them by backend and family."""
    place: Place = options.place
    name = f"{options.name.replace('.', '_')}.cpp"
    native: Path | None = options.native
    if place.project is not None:
        folder = native or shown(place.project.kernels)
        if not folder.resolve().is_relative_to(place.project.kernels):
            raise UsageError(f"kernels of {place.project.module} lie in {place.project.kernels}")
        below = (folder.resolve() / name).relative_to(place.project.kernels)
        header = f"kernels/{place.project.module}/{file.stem}.h"
        return Kernel(folder / name, below.as_posix(), header)
    folder = folder_of(options)
    if file.resolve().is_relative_to(folder.resolve()):
        below = Path(file.stem) / name
        path = (native or folder.parent / "native") / "cpu" / below
        return Kernel(path, below.as_posix(), f"kernels/{file.stem}.h")
    if native is None:
        raise UsageError(f"{file} lies outside {folder}: say with --native where its kernel goes")
    # As flambeau.ops.load calls a file's operators together.
    return Kernel(native / name, name, f"kernels/{file.stem}/{file.stem}.h")


def _next(options: argparse.Namespace, file: Path) -> Iterator[str]:
    """Commands that work from where one stands."""
    project = options.place.project
    yield f"flambeau ops check {file}"
    is_ours = project is not None and file.resolve().is_relative_to(
        project.declarations_folder.resolve()
    )
    inside = project is not None and Path.cwd().is_relative_to(project.root)
    folder = folder_of(options).resolve()
    is_found = inside if is_ours else project is None and file.resolve().is_relative_to(folder)
    yield f"flambeau ops try {options.name}{'' if is_found else f' --also {file}'}"
    if project is not None and is_ours:
        built = f"PYTHONPATH=$(flambeau ops build {shown(project.root)}):$PYTHONPATH"
        yield f"{built} flambeau ops test {project.module} -k {options.name}"


def additions(
    name: str, kind: Kind, file: Path, folder: Path, kernel: Kernel | None = None
) -> list[Addition]:
    """The entry, and the kernel of a structured operator."""
    from flambeau.codegen.write.files import Texts

    values = {
        "name": name,
        "short": name.partition(".")[0],
        "identifier": name.replace(".", "_"),
        "kernel": kernel,
    }
    texts = Texts()
    texts.render(f"new/{kind.value}.yaml.jinja", "entry", **values)
    entry = _beside_head(texts.files["entry"], file)
    found = [Addition(file, entry, _modeline(file, folder))]
    if kernel is not None:
        texts.render("new/structured.cpp.jinja", "kernel", **values)
        found.append(Addition(kernel.path, texts.files["kernel"], "", True))
    return found


def _beside_head(text: str, file: Path) -> str:
    """The entry without what the family's head says, and declining what else it gives."""
    root = parse_yaml(str(file), file.read_text("utf-8"), Diagnostics()) if file.exists() else None
    first = root.items[0] if isinstance(root, Sequence) else None
    if not isinstance(first, Mapping) or first.key(FAMILY) is None:
        return text
    written = parse_yaml("entry", text, Diagnostics())
    entry = written.items[0] if isinstance(written, Sequence) else None
    assert isinstance(entry, Mapping)
    keys = [key for key, _ in entry.entries]
    lines = text.rstrip("\n").split("\n")
    ends = [*(key.span.line - 1 for key in keys[1:]), len(lines)]
    blocks = {k.value: lines[k.span.line - 1 : end] for k, end in zip(keys, ends, strict=True)}
    for key, value in read_head(first, Diagnostics()).defaults:
        own = entry.get(key.value)
        if own is None:
            blocks[key.value] = [f"  {key.value}: null"]
        elif content(own) == content(value):
            del blocks[key.value]
    kept = [line for block in blocks.values() for line in block]
    return "\n".join([*lines[: keys[0].span.line - 1], *kept]) + "\n"


def _check_entry(options: argparse.Namespace, entry: Addition) -> None:
    """The entry loads beside what is shared; other operators say nothing of it.

    Raises:
        DeclarationError: it does not.
    """
    diagnostics = Diagnostics()
    place: Place = options.place
    own = {str(entry.path): _with(entry)}

    def others(files: tuple[Path, ...]) -> dict[str, str]:
        kept = [path for path in files if path.resolve() != entry.path.resolve()]
        texts = read_files(kept, diagnostics)
        return {f: "" if _OPERATOR.search(text) else text for f, text in texts.items()}

    texts = others(tuple(declaration_files(folder_of(options))))
    if place.project is None:
        load_texts({**texts, **own}, diagnostics)
    else:
        beside = others(files_of(options))
        load_texts(texts, diagnostics, place.project.module, {**beside, **own})
    diagnostics.raise_if_any()


def _modeline(file: Path, folder: Path) -> str:
    """Where editors find the schema."""
    schema = os.path.relpath(folder.resolve() / SCHEMA, file.resolve().parent)
    return f"# yaml-language-server: $schema={schema}\n"


def _with(addition: Addition) -> str:
    """What the file will hold."""
    if not addition.path.exists():
        return addition.head + addition.text
    before = addition.path.read_text(encoding="utf-8")
    if before and not before.endswith("\n"):
        before += "\n"
    return f"{before}\n{addition.text}"


def append(addition: Addition) -> None:
    path = addition.path
    existed = path.exists()
    whole = _with(addition)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole, encoding="utf-8")
    print(f"{'added to' if existed else 'wrote'} {path}")
