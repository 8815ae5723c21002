"""Write a new entry and the kernel file that its kind needs: a small operator to be changed into
yours. It is complete and correct: it passes `check` and builds as it is.

  new softclip --kind pointwise --file activation

Nothing that exists is overwritten: an entry is put at the end of its file, and an operator or a
kernel of that name is an error.
"""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

from flambeau.codegen.model.entries import Declarations, Kind
from flambeau.codegen.read.expand.families import FAMILY, content, read_head
from flambeau.codegen.read.loader import declaration_files, load_declarations, load_texts
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.text.tree import Mapping, Sequence, parse_yaml
from flambeau.codegen.tools.common import OK, UsageError, add_folder, folder_of

NAME = "new"
HELP = "write a new entry to start from"
_NAME = re.compile(r"[a-z][a-z0-9_]*[a-z0-9](\.[A-Za-z][A-Za-z0-9_]*)?")
SCHEMA = "schema.json"  # beside the library's declarations


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the operator: NAME or NAME.OVERLOAD")
    parser.add_argument(
        "--kind", choices=[k.value for k in Kind], required=True, help="what it is made from"
    )
    parser.add_argument(
        "--file",
        metavar="FAMILY",
        help="the file of declarations, by name or path (default: NAME.yaml)",
    )
    parser.add_argument(
        "--native",
        type=Path,
        metavar="DIR",
        help="the folder of the kernels (default: native/ beside the declarations)",
    )
    add_folder(parser)


@dataclass(frozen=True, slots=True)
class Addition:
    """Text to be put at the end of a file."""

    path: Path
    text: str
    head: str  # of a new file
    must_be_new: bool = False


def run(options: argparse.Namespace) -> int:
    folder = folder_of(options)
    declarations = load_declarations(folder)
    _check_name(options.name, declarations)
    file = _file(options, folder)
    kind = Kind(options.kind)
    found = additions(options.name, kind, file, folder, _native(options, folder, file, kind))
    for addition in found:
        if addition.must_be_new and addition.path.exists():
            raise UsageError(f"{addition.path} exists already")
    _check_entry(folder, found[0])
    for addition in found:
        append(addition)
    print(f"\nnext: edit {file}, then")
    print(f"  flambeau ops check {file}")
    print(f"  flambeau ops try {options.name}")
    return OK


def _check_name(name: str, declarations: Declarations) -> None:
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"'{name}' is not a name: lower-case letters, digits and _, as in soft_clip"
        )
    for operator in declarations.operators:
        same = (operator.full_name, operator.identifier, *operator.aliases)
        if name in same or name.replace(".", "_") in same:
            raise UsageError(f"'{name}' is declared already, at {operator.span}")


def _file(options: argparse.Namespace, folder: Path) -> Path:
    """`activation`, `activation.yaml` or a path."""
    given: str = options.file or options.name.partition(".")[0]
    path = Path(given if given.endswith(".yaml") else f"{given}.yaml")
    if not path.stem.isidentifier():
        raise UsageError(f"'{path.stem}' is not a name for a file of declarations")
    path = path if path.parent != Path() else folder / path
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}")
    if (path.resolve().parent.parent / "__init__.py").exists():
        raise UsageError(f"{path} belongs to an installed package: give another --file")
    return path


def _native(options: argparse.Namespace, folder: Path, file: Path, kind: Kind) -> Path:
    """The folder of kernels that belongs to the file."""
    given: Path | None = options.native
    if given is None and kind is Kind.STRUCTURED and file.resolve().parent != folder.resolve():
        raise UsageError(f"{file} lies outside {folder}: say with --native where its kernel goes")
    return given or folder.parent / "native"


def additions(name: str, kind: Kind, file: Path, folder: Path, native: Path) -> list[Addition]:
    """The entry, and the kernel of a structured operator."""
    from flambeau.codegen.write.files import Texts

    identifier = name.replace(".", "_")
    kernel = f"{file.stem}/{identifier}.cpp"
    values = {
        "name": name,
        "short": name.partition(".")[0],
        "identifier": identifier,
        "family": file.stem,
        "kernel": kernel,
    }
    texts = Texts()
    texts.render(f"new/{kind.value}.yaml.jinja", "entry", **values)
    entry = _beside_head(texts.files["entry"], file)
    found = [Addition(file, entry, _modeline(file, folder))]
    if kind is Kind.STRUCTURED:
        texts.render("new/structured.cpp.jinja", "kernel", **values)
        found.append(Addition(native / "cpu" / kernel, texts.files["kernel"], "", True))
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


def _check_entry(folder: Path, entry: Addition) -> None:
    """The entry loads beside what is there.

    Raises:
        DeclarationError: it does not.
    """
    files = [path for path in declaration_files(folder) if path.resolve() != entry.path.resolve()]
    texts = {str(path): path.read_text(encoding="utf-8") for path in files}
    diagnostics = Diagnostics()
    load_texts({**texts, str(entry.path): _with(entry)}, diagnostics)
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
