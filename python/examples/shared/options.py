"""Options of a program: the fields of a dataclass, on the command line."""

from __future__ import annotations

import argparse
import types
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import flambeau

T = TypeVar("T", bound="Seeded")
HERE = Path(".")


@dataclass(frozen=True)
class Seeded:
    """What every example takes. `Annotated` says what `--help` explains."""

    seed: Annotated[int, "of random numbers"] = 0


@dataclass(frozen=True)
class Options(Seeded):
    """What those take that write files."""

    output: Annotated[Path, "folder that pictures and samples are written to"] = HERE

    def file(self, name: str) -> Path:
        """The path of a file to write."""
        self.output.mkdir(parents=True, exist_ok=True)
        return self.output / name


def parse(kind: type[T], description: str | None) -> T:
    """Reads the options of the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        type_, help = get_args(hints[each.name])
        name = f"--{each.name.replace('_', '-')}"
        parser.add_argument(name, default=each.default, help=help, **_reading(type_))
    return kind(**vars(parser.parse_args()))


def _reading(kind: Any) -> dict[str, Any]:
    """How an argument of a type is read: one of some words, or by its type."""
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    return {"type": get_args(kind)[0] if isinstance(kind, types.UnionType) else kind}


def begin(options: Seeded) -> None:
    """Seeds the random numbers, so that a run can be repeated."""
    flambeau.manual_seed(options.seed)
