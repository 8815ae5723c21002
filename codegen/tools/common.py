"""What several commands share: the folder of declarations, finding an operator, usage errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.model.operators import is_apart
from flambeau.codegen.read.loader import Loaded, Package, declaration_files, load
from flambeau.codegen.text.source import Diagnostics, did_you_mean
from flambeau.codegen.tools.place import Place, UsageError

OK, FINDINGS, USAGE = 0, 1, 2


def _here(options: argparse.Namespace) -> Path:
    return Path()


def add_folder(
    parser: argparse.ArgumentParser, start: Callable[[argparse.Namespace], Path] = _here
) -> None:
    """`--declarations DIR`. `start`: the folder that says where one works."""
    parser.add_argument(
        "--declarations",
        type=Path,
        default=None,
        metavar="DIR",
        help="the folder of the library's declarations (default: of the tree of Flambeau that one "
        "stands in, else of the installed library)",
    )
    parser.set_defaults(start=start)


def add_sources(parser: argparse.ArgumentParser) -> None:
    """`--declarations DIR` and `--also FILE`."""
    add_folder(parser, lambda options: options.also[0].parent if options.also else Path())
    parser.add_argument(
        "--also",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="read this file of declarations too (may be given several times)",
    )


def folder_of(options: argparse.Namespace) -> Path:
    """The folder of declarations; shorter to read in messages where it lies below the current one.

    Raises:
        UsageError: there is no such folder.
    """
    folder: Path = options.declarations
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    return shown(folder)


def shown(path: Path) -> Path:
    """Shorter to read where it lies below the current folder."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path


def files_of(options: argparse.Namespace, further: Sequence[Path] = ()) -> tuple[Path, ...]:
    """What `load_place` reads beside the folder: a package's files, and further ones."""
    place: Place = options.place
    own = place.project.declarations if place.project is not None else ()
    found = {path.resolve(): shown(path) for path in own}
    return tuple({**found, **{path.resolve(): path for path in further}}.values())


def load_place(
    options: argparse.Namespace, further: Sequence[Path], diagnostics: Diagnostics
) -> Loaded:
    """The library's declarations and those of the package that one works in; further files belong
    to the latter, where there is one.
    """
    folder, place = folder_of(options), options.place
    if place.project is None:
        return load(declaration_files(folder, further), diagnostics)
    library = declaration_files(folder)
    known = {path.resolve() for path in library}
    files = tuple(f for f in files_of(options, further) if f.resolve() not in known)
    return load(library, diagnostics, Package(place.project.module, files))


def read_sources(options: argparse.Namespace) -> Declarations:
    """The declarations that `add_sources` describes.

    Raises:
        DeclarationError: with every mistake in them.
    """
    diagnostics = Diagnostics()
    loaded = load_place(options, options.also, diagnostics)
    diagnostics.raise_if_any()
    return loaded.declarations


def _names(operator: Operator) -> tuple[str, ...]:
    return (*operator.called, *(place.name for place in operator.also_in))


def find_operators(declarations: Declarations, name: str) -> tuple[Operator, ...]:
    """`max`: all overloads of a name or an alias, as formulas mean them; `max.dim`:
    one; `add_`: those of `add`.

    Raises:
        UsageError: nothing is called so.
    """
    short = name.removeprefix("flambeau.").removeprefix("Tensor.")
    candidates = (name, short, short.rpartition(".")[2], short.rstrip("_"))
    for candidate in dict.fromkeys(candidates):
        found = tuple(o for o in declarations.operators if candidate == o.full_name)
        named = tuple(o for o in declarations.operators if candidate in _names(o))
        if named or found:
            chosen = named if len(named) > len(found) else found
            return tuple(sorted(chosen, key=is_apart))
    hint = did_you_mean(short, [n for o in declarations.operators for n in (o.name, o.full_name)])
    raise UsageError(f"there is no operator '{name}'" + (f": {hint}" if hint else ""))
