"""Show what the declarations change in the generated files. Nothing is written.

What would be generated now is compared with what was generated last, in build/generated beside the
folder of declarations (in a package of operators: where `build` put it), or with --against with
what the declarations of a git revision give (the generator is today's in both cases). Exits with 1
where there is a difference.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.text.folders import yaml_files
from flambeau.codegen.tools.common import FINDINGS, OK, add_folder, folder_of, shown
from flambeau.codegen.tools.place import Place, UsageError
from flambeau.codegen.tools.terminal import Style

if TYPE_CHECKING:
    from flambeau.extension.project import Project

NAME = "diff"
HELP = "show what edits of declarations change in the generated files"
NOTHING = "/dev/null"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="FILE", help="only generated files whose names hold this text"
    )
    parser.add_argument("--against", metavar="REV", help="compare with the declarations of REV")
    parser.add_argument(
        "--generated", type=Path, metavar="DIR", help="compare with this generated folder"
    )
    parser.add_argument("--stat", action="store_true", help="only count the lines of each file")
    add_folder(parser)


def run(options: argparse.Namespace) -> int:
    if options.against and options.generated:
        raise UsageError("--against and --generated exclude each other")
    folder_of(options)  # there is one
    place: Place = options.place
    generated = None if options.against else _generated(options)
    after = _emitted(options, place.folder)
    before = _of_revision(options) if generated is None else _of_folder(generated, after)
    style = Style()
    changed = 0
    for name in sorted(before.keys() | after.keys()):
        wanted = not options.names or any(text in name for text in options.names)
        if not wanted or before.get(name) == after.get(name):
            continue
        changed += 1
        lines = list(_difference(name, before.get(name), after.get(name)))
        if options.stat:
            print(_count(name, lines, style))
        else:
            print("\n".join(style.difference(line) for line in lines))
    if options.stat or not changed:
        print(f"{changed} of {len(before.keys() | after.keys())} generated files change")
    return FINDINGS if changed else OK


def _emitted(options: argparse.Namespace, folder: Path) -> dict[str, str]:
    """What a folder of declarations generates, by name."""
    place: Place = options.place
    if place.project is not None:
        files = tuple(yaml_files(folder))
        return _emitted_by(replace(place.project, declarations=files))
    from flambeau.codegen.write.everything import emit_into
    from flambeau.codegen.write.files import Texts

    texts = Texts()
    emit_into(load_declarations(folder), texts)
    return texts.files


def _emitted_by(project: Project) -> dict[str, str]:
    """What a package generates, its own generator included."""
    from flambeau.codegen.write.files import recorded_files
    from flambeau.extension.generating import generate, load_checked

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        generate(project, load_checked(project), folder, f"{project.module}._C")
        return {name: _text(folder / name) for name in recorded_files(folder)}


def _text(file: Path) -> str:
    """What a file holds; of pictures and the like, which characters show their bytes."""
    return file.read_bytes().decode("utf-8", errors="backslashreplace")


def _of_folder(folder: Path, after: Mapping[str, str]) -> dict[str, str]:
    """What was generated before; other files in the folder are nobody's business."""
    from flambeau.codegen.write.files import recorded_files

    names = recorded_files(folder) | after.keys()
    return {name: _text(folder / name) for name in names if (folder / name).is_file()}


def _generated(options: argparse.Namespace) -> Path:
    """The folder that is meant, or where the last build left what it generated."""
    place: Place = options.place
    folder: Path
    if options.generated:
        folder = options.generated
    elif place.project is None:
        folder = place.library.resolve().parent / "build" / "generated"
    else:
        from flambeau.extension.building import GENERATED, build_folder

        folder = build_folder(place.project) / GENERATED
    if not folder.is_dir():
        hint = "build first, or give --generated DIR or --against REV"
        raise UsageError(f"there is no generated folder {folder}: {hint}")
    return folder


def _of_revision(options: argparse.Namespace) -> dict[str, str]:
    """What the declarations of a revision generate."""
    place: Place = options.place
    revision: str = options.against
    folder = shown(place.folder)
    listed = _git(folder, "ls-tree", "-r", "--name-only", "-z", "--end-of-options", revision, "./")
    files = [Path(name) for name in listed.split("\0") if name.endswith(".yaml")]
    if not files:
        raise UsageError(f"revision {revision} has no declarations in {folder}")
    with tempfile.TemporaryDirectory() as temporary:
        # Of the same name, which stands in the generated files.
        copy = Path(temporary) / folder.resolve().name
        copy.mkdir()
        for file in files:
            text = _git(folder, "show", "--end-of-options", f"{revision}:./{file}")
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            (copy / file).write_text(text, encoding="utf-8")
        return _emitted(options, copy)


def _git(folder: Path, *arguments: str) -> str:
    try:
        process = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise UsageError("--against needs git, which is not installed") from None
    if process.returncode != 0:
        raise UsageError(f"git: {process.stderr.strip()}")
    return process.stdout


def _difference(name: str, before: str | None, after: str | None) -> Iterator[str]:
    """A unified diff, as `patch` reads it."""
    return difflib.unified_diff(
        [] if before is None else before.splitlines(),
        [] if after is None else after.splitlines(),
        NOTHING if before is None else f"a/{name}",
        NOTHING if after is None else f"b/{name}",
        lineterm="",
    )


def _count(name: str, lines: list[str], style: Style) -> str:
    added = sum(line.startswith("+") for line in lines) - 1
    removed = sum(line.startswith("-") for line in lines) - 1
    return f"{style(f'+{added}', 'green')} {style(f'-{removed}', 'red')} {name}"
