"""Which Pythons a machine has that wheels can be made with."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# What a Python says of itself: version, whether it has a lock, whether C can be compiled for it.
_QUESTION = """
import json, os, platform, sys, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
print(json.dumps([
    platform.python_implementation(), sys.version_info[:2],
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), os.path.exists(header),
]))
"""
SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14))


@dataclass(frozen=True)
class Interpreter:
    """A CPython that extension modules can be compiled for."""

    path: Path
    version: tuple[int, int]

    @property
    def name(self) -> str:
        return f"CPython {self.version[0]}.{self.version[1]}"

    @property
    def tag(self) -> str:
        return f"cp{self.version[0]}{self.version[1]}"


def find_interpreters(given: Iterable[Path] = ()) -> tuple[list[Interpreter], list[str]]:
    """The first interpreter of each supported version among those given, on the PATH and of pyenv;
    and a sentence on each version that there is none of.
    """
    found: dict[tuple[int, int], Interpreter] = {}
    refused: dict[tuple[int, int], str] = {}
    for path in [*given, *_candidates()]:
        answer = _asked(path)
        if answer is None:
            continue
        implementation, version, unlocked, headers = answer
        if implementation != "CPython" or unlocked or version not in SUPPORTED:
            continue
        if headers:
            found.setdefault(version, Interpreter(path, version))
        else:
            refused.setdefault(version, f"{path} has no header Python.h")
    missing = [
        f"CPython {major}.{minor}: no wheel: "
        + refused.get((major, minor), "no interpreter on the PATH or of pyenv; --python names one")
        for major, minor in SUPPORTED
        if (major, minor) not in found
    ]
    return [found[version] for version in sorted(found)], missing


def _candidates() -> Iterator[Path]:
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for major, minor in SUPPORTED:
        name = f"python{major}.{minor}"
        if on_path := shutil.which(name):
            yield Path(on_path)
        yield from map(Path, sorted(glob.glob(f"{pyenv}/versions/*/bin/{name}"), reverse=True))


def _asked(path: Path) -> tuple[str, tuple[int, int], bool, bool] | None:
    """What an interpreter says of itself; None: it does not run, as pyenv's stand-ins for versions
    that are not chosen.
    """
    try:
        process = subprocess.run(
            [str(path), "-I", "-c", _QUESTION], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    if process.returncode != 0:
        return None
    implementation, (major, minor), unlocked, headers = json.loads(process.stdout)
    return implementation, (major, minor), unlocked, headers
