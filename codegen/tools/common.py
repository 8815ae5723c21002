"""What several commands share: the folder of declarations, finding an operator, usage errors."""

from __future__ import annotations

import argparse
from pathlib import Path

from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.model.operators import is_apart
from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.text.folders import default_folder
from flambeau.codegen.text.source import did_you_mean

OK, FINDINGS, USAGE = 0, 1, 2


class UsageError(Exception):
    """A command that cannot be carried out as it was given: exit code 2."""


def add_folder(parser: argparse.ArgumentParser) -> None:
    """`--declarations DIR`."""
    parser.add_argument(
        "--declarations",
        type=Path,
        default=default_folder(),
        metavar="DIR",
        help="the folder of declarations (default: %(default)s)",
    )


def add_sources(parser: argparse.ArgumentParser) -> None:
    """`--declarations DIR` and `--also FILE`."""
    add_folder(parser)
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
    try:
        return folder.resolve().relative_to(Path.cwd())
    except ValueError:
        return folder


def read_sources(options: argparse.Namespace) -> Declarations:
    """The declarations that `add_sources` describes.

    Raises:
        DeclarationError: with every mistake in them.
    """
    return load_declarations(folder_of(options), options.also)


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
