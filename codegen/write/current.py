"""Whether a generated folder is what the generator would write, so that it need not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import jinja2

from flambeau._build import instruction_sets
from flambeau.codegen.read.state import digest_of_files, state_of
from flambeau.codegen.write.files import STATE, TEMPLATES, recorded_files


def emitted_state(texts: Mapping[str, str]) -> str:
    """Names all that generated files follow from."""
    digest = hashlib.sha256(f"{state_of(texts)} {jinja2.__version__}".encode())
    digest.update(digest_of_files(TEMPLATES, "*"))
    digest.update(Path(instruction_sets.__file__).read_bytes())
    return digest.hexdigest()


def is_current(folder: Path, state: str) -> bool:
    """Whether the files of a folder were generated from this state, and nothing touched them."""
    try:
        found = (folder / STATE).read_text(encoding="utf-8")
        return found == _written(folder, state)
    except OSError:
        return False


def remember(folder: Path, state: str) -> None:
    """Says what a folder was generated from."""
    (folder / STATE).write_text(_written(folder, state), encoding="utf-8")


def forget(folder: Path) -> None:
    """Before files are written: a run that is interrupted leaves a folder of no state."""
    (folder / STATE).unlink(missing_ok=True)


def _written(folder: Path, state: str) -> str:
    digest = hashlib.sha256()
    for name in sorted(recorded_files(folder)):
        digest.update(f"{name} ".encode() + hashlib.sha256((folder / name).read_bytes()).digest())
    return f"{state}\n{digest.hexdigest()}\n"
