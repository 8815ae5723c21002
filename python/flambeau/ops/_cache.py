"""The cache of compiled operators: a folder per digest, which many processes may use at once."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

_CHECKSUMS = "checksums"  # written last: an entry without it is not complete


def cache_folder() -> Path:
    """Where compiled operators are kept: the variable FLAMBEAU_CACHE, or `flambeau` in the user's
    cache folder. It may be deleted at any time.
    """
    given = os.environ.get("FLAMBEAU_CACHE")
    if given:
        return Path(given) / "operators"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "flambeau" / "operators"


def cached(digest: str, make: Callable[[Path], list[Path]]) -> Path:
    """The folder of an entry. `make` fills it: given a folder to work in, it returns the files to
    keep. It runs in one process; others that ask meanwhile wait. A damaged entry is made anew.

    Raises:
        OSError: where the cache cannot be written.
    """
    entry = cache_folder() / digest
    if not _is_whole(entry):
        from flambeau._build.lock import exclusive

        _require_writable(entry)
        with exclusive(entry):
            if not _is_whole(entry):
                _fill(entry, make)
    return entry


def _is_whole(entry: Path) -> bool:
    """Whether the entry is complete, and its files are as they were written: the loader would
    crash on half a library.
    """
    try:
        written = (entry / _CHECKSUMS).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if written and written == _checksums(entry):
        return True
    warnings.warn(f"flambeau.ops.load: {entry} is damaged and is compiled anew", stacklevel=4)
    return False


def _checksums(entry: Path) -> bytes:
    files = sorted(entry.glob("*.so"))
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    return "".join(lines).encode()


def _fill(entry: Path, make: Callable[[Path], list[Path]]) -> None:
    (entry / _CHECKSUMS).unlink(missing_ok=True)
    for old in entry.glob("*.so"):
        old.unlink()  # another program may run it: its file must not be written to
    with tempfile.TemporaryDirectory(prefix="work-", dir=entry) as work:
        for file in make(Path(work)):
            file.rename(entry / file.name)
        checksums = Path(work) / _CHECKSUMS
        checksums.write_bytes(_checksums(entry))
        checksums.rename(entry / _CHECKSUMS)


def _require_writable(entry: Path) -> None:
    advice = "set FLAMBEAU_CACHE to a folder that can be"
    try:
        entry.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"flambeau.ops.load: {entry} cannot be written ({error.strerror}); {advice}"
        raise type(error)(error.errno, message) from None
    if not os.access(entry, os.W_OK | os.X_OK):
        raise PermissionError(f"flambeau.ops.load: {entry} cannot be written; {advice}")
