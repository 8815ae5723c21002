"""Folders of declarations -> model.Declarations.

A file is a list of entries. The first key of an entry says what it declares: `op`, or `helper` for
an operator that formulas and the library itself alone call, `dtype`, `backend`, `argument`, `each`
for entries that a rule makes, or what entries share: `family`, `samples`, `error` (expand/).
Functions of formulas (folder functions) are read by formula/functions.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from flambeau.codegen.model.entries import Backend, Declarations, Dtype, Operator
from flambeau.codegen.model.reserved import is_name
from flambeau.codegen.read import schema
from flambeau.codegen.read.dtype_rules import DtypeTable
from flambeau.codegen.read.expand.copies import copying
from flambeau.codegen.read.expand.definitions import ERROR, SAMPLES, Definitions
from flambeau.codegen.read.expand.each import EACH, made_for_each
from flambeau.codegen.read.expand.entry import Surroundings as Shared
from flambeau.codegen.read.expand.entry import expanded
from flambeau.codegen.read.expand.families import FAMILY, Head, read_head
from flambeau.codegen.read.kept import kept
from flambeau.codegen.read.operator_reader import (
    HELPER,
    Reading,
    Surroundings,
    read_operator,
    read_signature,
)
from flambeau.codegen.text.folders import default_folder, function_files, yaml_files
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostics,
    Note,
    Span,
    Text,
    did_you_mean,
)
from flambeau.codegen.text.tree import Mapping, Node, parse_yaml
from flambeau.codegen.text.tree import Sequence as NodeList

T = TypeVar("T")

_NAME_OF_ENTRY = re.compile(rf"- *(?:op|{HELPER}): *['\"]?([A-Za-z0-9_.]+)")
_SUBJECTS = ("op", HELPER, "dtype", "backend", "argument", FAMILY, SAMPLES, ERROR, EACH)
_CATEGORIES = ("bool", "unsigned", "signed", "limited", "float", "complex")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What could be loaded, the names of the operators that could not, and what of these could."""

    declarations: Declarations
    incomplete: frozenset[str] = frozenset()
    partial: tuple[Partial, ...] = ()


@dataclass(frozen=True, slots=True)
class Partial:
    """An operator with mistakes, read except for its flawed keys."""

    operator: Operator
    flawed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Package:
    """Declarations outside the library. They may refer to the library's operators."""

    name: str  # of the Python module
    files: tuple[Path, ...]


def load_declarations(folder: Path | None = None, files: Sequence[Path] = ()) -> Declarations:
    """Everything declared in a folder (default: the library's own) and in further files.

    Raises:
        DeclarationError: with every mistake that was found.
    """
    diagnostics = Diagnostics()
    loaded = load(declaration_files(folder or default_folder(), files), diagnostics)
    diagnostics.raise_if_any()
    return loaded.declarations


@lru_cache(maxsize=1)
def library_declarations() -> Declarations:
    """What the library declares, read once in a process."""
    return load_declarations()


def declaration_files(folder: Path, files: Sequence[Path] = ()) -> list[Path]:
    """The files of a folder and further ones, each once, in a fixed order."""
    found = {path.resolve(): path for path in files}
    # A folder that is none is reported like a file that cannot be read.
    for path in yaml_files(folder) if folder.is_dir() else [folder]:
        found.setdefault(path.resolve(), path)
    for path in function_files(folder):
        found.pop(path.resolve(), None)
    return sorted(found.values(), key=lambda p: (p.name, str(p)))


def load_package(package: Package, diagnostics: Diagnostics) -> Loaded:
    """The library's declarations and those of a package, which are `own`."""
    return load(declaration_files(default_folder()), diagnostics, package)


def load(files: Iterable[Path], diagnostics: Diagnostics, package: Package | None = None) -> Loaded:
    """Read files, collecting mistakes; entries without mistakes are loaded all the same."""
    texts = read_files(files, diagnostics)
    outside = read_files(package.files, diagnostics) if package else {}
    return load_texts(texts, diagnostics, package.name if package else "", outside)


def read_files(files: Iterable[Path], diagnostics: Diagnostics) -> dict[str, str]:
    """The contents of files by their names; those that cannot be read are mistakes."""
    texts: dict[str, str] = {}
    for path in files:
        with diagnostics.collecting():
            texts[str(path)] = read_file(path)
    return texts


def read_file(path: Path) -> str:
    """The text of a file. DeclarationError where it is none."""
    start = Span(str(path), 1, 1)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DeclarationError.at(start, "cannot be read: it is not a regular file")
        content = path.read_bytes()
    except OSError as error:
        raise DeclarationError.at(start, f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DeclarationError.at(start, f"cannot be read: {error}") from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8"
        hint = "save the file as UTF-8"
        raise DeclarationError.at(Span(str(path), line, column), message, hint) from None


def load_texts(
    texts: dict[str, str],
    diagnostics: Diagnostics,
    package: str = "",
    outside: dict[str, str] | None = None,
) -> Loaded:
    """Like `load`, from the files' contents; those of the package are `outside`."""

    def read() -> tuple[_Library, bool]:
        before = len(diagnostics)
        return _extended(_Library(), texts, "", diagnostics), len(diagnostics) == before

    library = kept(texts, read)
    if outside is not None:
        library = _extended(library, outside, package, diagnostics)
    return library.loaded


@dataclass(frozen=True, slots=True)
class _Library:
    """What was read, and what further declarations may refer to."""

    loaded: Loaded = Loaded(Declarations((), (), ()))
    argument_docs: dict[str, str] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=Definitions)


def _extended(
    library: _Library, texts: dict[str, str], package: str, diagnostics: Diagnostics
) -> _Library:
    """The library and what further files declare; these see the library, not it them."""
    entries = _Entries()
    for file in _called_properly(texts, diagnostics):
        _sort_entries(parse_yaml(file, texts[file], diagnostics), entries, diagnostics)
    known = library.loaded.declarations
    dtypes = (*known.dtypes, *_all(entries, "dtype", _dtype, diagnostics))
    backends = (*known.backends, *_all(entries, "backend", _backend, diagnostics))
    argument_docs = {
        **library.argument_docs,
        **dict(_all(entries, "argument", _argument, diagnostics)),
    }
    around = Surroundings(
        dtypes=DtypeTable(dtypes),
        backends=tuple(b.name for b in backends if b.emit != "none"),
        argument_docs=argument_docs,
    )
    definitions = _definitions(library.definitions, entries, diagnostics)
    shared = _shared(texts, entries, definitions, package, diagnostics)
    operators = _Operators(known.operators, package, shared, around, diagnostics)
    operators.read(entries)
    families = {_family_name(f, package): s.head.doc for f, s in shared.items() if s.head.doc}
    declarations = Declarations(
        tuple(operators.sound),
        dtypes,
        backends,
        package=package,
        families={**known.families, **families},
    )
    incomplete = library.loaded.incomplete | entries.broken | operators.incomplete
    partial = (*library.loaded.partial, *operators.partial)
    loaded = Loaded(with_index(declarations), incomplete, partial)
    return _Library(loaded, argument_docs, definitions)


def _definitions(known: Definitions, entries: _Entries, diagnostics: Diagnostics) -> Definitions:
    """The sample sets and errors of further entries, found before those that are known."""
    own = Definitions()
    for entry in (*entries.of[SAMPLES], *entries.of[ERROR]):
        own.add(entry, diagnostics)
    return Definitions({**own.of_file, **known.of_file})


def _shared(
    files: Iterable[str],
    entries: _Entries,
    definitions: Definitions,
    package: str,
    diagnostics: Diagnostics,
) -> dict[str, Shared]:
    """What the entries of each file share."""
    heads = {e.span.file: read_head(e, diagnostics) for e in entries.of[FAMILY]}
    return {
        file: Shared(heads.get(file, Head()), definitions.scope(file), package or "flambeau")
        for file in files
    }


class _Operators:
    """The operators that entries declare: those that are sound, and what is known of the rest."""

    def __init__(
        self,
        known: Iterable[Operator],
        package: str,
        shared: dict[str, Shared],
        around: Surroundings,
        diagnostics: Diagnostics,
    ) -> None:
        self._package = package
        self._shared = shared
        self._around = around
        self._diagnostics = diagnostics
        self.sound: list[Operator] = list(known)
        self.partial: list[Partial] = []
        self.incomplete: set[str] = set()

    def read(self, entries: _Entries) -> None:
        """Reads all; what a rule makes follows from what was read before."""
        for entry in entries.of["op"]:
            self._add(entry)
        for rule in entries.of[EACH]:
            made: list[Mapping] = []
            with self._diagnostics.collecting():
                made = made_for_each(rule, self.sound, self._shared[rule.span.file].head)
            for entry in made:
                self._add(entry)

    def _add(self, entry: Mapping) -> None:
        """Reads an entry, and that of its form that copies."""
        shared = self._shared[entry.span.file]
        family = _family_name(entry.span.file, self._package)
        reading = _read_operator(entry, family, shared, self._around, self._diagnostics)
        operator = reading.operator and _of_package(reading.operator, entry, self._package)
        if operator is not None and reading.is_sound:
            self.sound.append(operator)
        else:
            self.incomplete.update(_claimed_names(entry))
            if operator is not None:
                self.partial.append(Partial(operator, reading.flawed))
        copy: Mapping | None = None
        with self._diagnostics.collecting():
            if operator is not None:
                copy = copying(entry, operator, shared.head)
        if copy is not None:
            self._add(copy)


def _called_properly(files: Iterable[str], diagnostics: Diagnostics) -> Iterator[str]:
    """Those of files that generated files, NAME.*, can be called after: by one name each."""
    seen: dict[str, str] = {}
    for file in files:
        stem, start = Path(file).stem, Span(file, 1, 1)
        if not is_name(stem):
            message = (
                "a file of declarations is called NAME.yaml, as generated files are then NAME.*"
            )
            diagnostics.error(start, message, "use letters, digits and underscores")
        elif stem in seen:
            message = f"the family '{stem}' has a file already"
            note = Note(Span(seen[stem], 1, 1), "the other one")
            diagnostics.error(start, message, "give it another name, or join the two", note)
        else:
            seen[stem] = file
            yield file


def _read_operator(
    entry: Mapping, family: str, shared: Shared, around: Surroundings, diagnostics: Diagnostics
) -> Reading:
    """Read one entry in full; its mistakes are collected."""
    own = Diagnostics()
    signature = read_signature(entry, around, own)
    whole = expanded(entry, signature, shared, own)
    reading = read_operator(whole, signature, family, around, own)
    diagnostics.extend(own)
    return reading


def _family_name(file: str, package: str) -> str:
    """The file's stem; a package's files may be called like the library's."""
    stem = Path(file).stem
    return f"{package}/{stem}" if package else stem


def _of_package(operator: Operator, entry: Mapping, package: str) -> Operator:
    """A package adds methods to Tensor only where it asks for them."""
    if not package:
        return operator
    variants = operator.variants if entry.get("variants") else operator.variants - {"method"}
    return replace(operator, package=package, variants=variants)


@dataclass(frozen=True, slots=True)
class _Entries:
    of: dict[str, list[Mapping]] = field(default_factory=lambda: {s: [] for s in _SUBJECTS})
    broken: set[str] = field(default_factory=set)  # names in entries that are not YAML


def _sort_entries(root: Node | None, entries: _Entries, diagnostics: Diagnostics) -> None:
    if root is None:
        return
    if not isinstance(root, NodeList):
        diagnostics.error(
            root.span, f"a file of declarations is a list, not {schema.describe(root)}"
        )
        return
    for line in root.broken:
        if match := _NAME_OF_ENTRY.match(line):
            entries.broken.update({match[1], match[1].split(".")[0]})
    for number, item in enumerate(root.items):
        if not isinstance(item, Mapping) or not item.entries:
            message = f"an entry is a mapping, not {schema.describe(item)}"
            diagnostics.error(item.span, message, 'an entry starts with `- op: "..."`')
            continue
        subject = item.entries[0][0]
        if subject.value == FAMILY and number > 0:
            message = "a family's head stands first in its file"
            diagnostics.error(subject.span, message)
        elif subject.value in entries.of:
            entries.of["op" if subject.value == HELPER else subject.value].append(item)
        else:
            hint = did_you_mean(subject.value, _SUBJECTS)
            if item.key("op") is not None:
                hint = "put 'op' first"
            message = f"an entry starts with one of {', '.join(_SUBJECTS)}, not '{subject.value}'"
            diagnostics.error(subject.span, message, hint)


def _claimed_names(entry: Mapping) -> set[str]:
    """The names that a broken entry would have declared, so that uses of them are no mistakes."""
    subject = entry.entries[0][1]
    aliases = entry.get("aliases")
    found = {subject.value.split("(")[0].strip()} if isinstance(subject, Text) else set()
    found |= {name.split(".")[0] for name in found}
    if isinstance(aliases, NodeList):
        found |= {item.value for item in aliases.items if isinstance(item, Text)}
    return found


def with_index(declarations: Declarations) -> Declarations:
    """The declarations with `by_name` made anew."""
    found: dict[str, tuple[Operator, ...]] = {}
    for operator in declarations.operators:
        found[operator.name] = (*found.get(operator.name, ()), operator)
    return replace(declarations, by_name=found)


def _all(
    entries: _Entries,
    subject: str,
    convert: Callable[[Mapping, Diagnostics], T],
    diagnostics: Diagnostics,
) -> tuple[T, ...]:
    """What the entries of a subject declare, but for those with mistakes."""
    found = (_read(entry, convert, diagnostics) for entry in entries.of[subject])
    return tuple(one for one in found if one is not None)


def _read(
    entry: Mapping, convert: Callable[[Mapping, Diagnostics], T], diagnostics: Diagnostics
) -> T | None:
    """Convert an entry; None, with the mistakes collected, where it has any."""
    own = Diagnostics()
    found: T | None = None
    with own.collecting():
        found = convert(entry, own)
    diagnostics.extend(own)
    return None if len(own) else found


def _dtype(entry: Mapping, diagnostics: Diagnostics) -> Dtype:
    required = ("cpp", "size", "category", "tensor_type", "doc")
    keys = ("dtype", "aliases", *required, "accumulate", "real", "numpy", "significant_bits")
    schema.check_keys(entry, "a dtype", keys, required, diagnostics)
    values = _Values(entry, required)
    name = schema.name(values.get("dtype"), "a dtype's name").value
    aliases = entry.get("aliases")
    return Dtype(
        name=name,
        aliases=tuple(n.value for n in schema.names(aliases, "'aliases'")) if aliases else (),
        cpp=values.text("cpp"),
        size=schema.integer(values.get("size"), "'size'"),
        category=schema.choice(values.get("category"), "category", _CATEGORIES).value,
        accumulate=values.text("accumulate", name),
        real=values.text("real", name),
        numpy=values.text("numpy", "") or None,
        tensor_type=values.text("tensor_type"),
        significant_bits=_optional_integer(entry, "significant_bits"),
        doc=values.text("doc"),
        entry=entry,
    )


def _optional_integer(entry: Mapping, key: str) -> int:
    node = entry.get(key)
    return schema.integer(node, f"'{key}'") if node else 0


def _backend(entry: Mapping, diagnostics: Diagnostics) -> Backend:
    keys = ("backend", "emit", "doc")
    schema.check_keys(entry, "a backend", keys, keys, diagnostics)
    values = _Values(entry, keys)
    emit = schema.choice(values.get("emit"), "emit", ("cpp", "cuda", "none")).value
    return Backend(values.text("backend"), emit, values.text("doc"), entry)


def _argument(entry: Mapping, diagnostics: Diagnostics) -> tuple[str, str]:
    keys = ("argument", "doc")
    schema.check_keys(entry, "an argument", keys, keys, diagnostics)
    values = _Values(entry, keys)
    return values.text("argument"), values.text("doc")


class _Values:
    """The values of an entry whose keys were checked."""

    def __init__(self, entry: Mapping, required: Iterable[str]) -> None:
        if any(entry.key(key) is None for key in required):
            raise DeclarationError([])  # which check_keys has reported
        self._entry = entry

    def get(self, key: str) -> Node:
        value = self._entry.get(key)
        assert value is not None
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._entry.get(key)
        if default is not None and (value is None or schema.is_null(value)):
            return default
        return schema.text(self.get(key), f"'{key}'").value
