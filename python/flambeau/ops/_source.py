"""What `flambeau.ops.load` is given: declarations, and the kernels that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be compiled."""

    name: str
    file: str  # of the declarations, as messages name it
    text: str
    kernels: tuple[Path, ...]


def read_source(
    declarations: str | os.PathLike[str],
    kernels: Sequence[str | os.PathLike[str]],
    name: str | None,
) -> Source:
    """The text or the file that `flambeau.ops.load` is given, under the name it goes by."""
    is_text = isinstance(declarations, str) and "\n" in declarations
    if is_text:
        name = name or "operators"
        file, text = f"{name}.yaml", str(declarations)
    else:
        path = Path(declarations)
        name = name or re.sub(r"\W", "_", path.stem)
        file, text = str(path), _text(path)
    if not name.isidentifier():
        raise ValueError(f"flambeau.ops.load: the name '{name}' is no identifier")
    return Source(name, file, text, tuple(Path(kernel).resolve() for kernel in kernels))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        from flambeau.codegen.read.loader import read_file

        return read_file(path)  # its error shows the place
