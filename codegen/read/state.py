"""The state of declarations and of the program that reads them, as a name: what was made of one
state need not be made again.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from flambeau.codegen.text.folders import default_folder, function_files


def state_of(texts: Mapping[str, str]) -> str:
    """Names the texts of files, the functions that they call, and the generator."""
    digest = hashlib.sha256(_generator())
    functions = function_files(default_folder())
    given = {**texts, **{str(f): f.read_text(encoding="utf-8") for f in functions}}
    for name, text in given.items():
        digest.update(f"{len(name)} {len(text)} {name}{text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@cache
def _generator() -> bytes:
    python = f"{sys.version} {yaml.__version__}"
    return digest_of_files(Path(__file__).parents[1], "*.py", python)


def digest_of_files(folder: Path, pattern: str, further: str = "") -> bytes:
    """What is in the files of a folder, which ones they are, and a further text."""
    digest = hashlib.sha256(further.encode())
    for file in sorted(folder.rglob(pattern)):
        if file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.relative_to(folder)} {len(content)} ".encode() + content)
    return digest.digest()
