"""The cache of compiled operators: a folder per digest, which many processes may use at once."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flambeau._build.user_cache import user_cache

_CHECKSUMS = "checksums"  # written last: a folder without it is not complete
_HEADERS = "headers"  # paths; each state of their contents has a folder of its own


def cache_folder() -> Path:
    """Where compiled operators are kept: the variable FLAMBEAU_CACHE, or `flambeau` in the user's
    cache folder. It may be deleted at any time.

    Example:
        >>> flambeau.ops.cache_folder().name
        'operators'
    """
    return user_cache() / "operators"


@dataclass(frozen=True, slots=True)
class Made:
    """What compiling made, in the folder that it worked in."""

    files: list[Path]  # to keep
    headers: list[Path]  # that they were made of, beside what the digest covers


def cached(digest: str, make: Callable[[Path], Made]) -> Path:
    """The folder with the files of an entry, made of its headers as they are now. `make` makes them
    in a folder that it is given. It runs in one process; others that ask meanwhile wait. A damaged
    entry is made anew.

    Raises:
        OSError: where the cache cannot be written.
    """
    entry = cache_folder() / digest
    found = _current(entry)
    if found is None:
        from flambeau._build.lock import exclusive

        _require_writable(entry)
        with exclusive(entry):
            found = _current(entry) or _fill(entry, make)
    return found


def _current(entry: Path) -> Path | None:
    """The folder that was made of the headers as they are now, where there is one."""
    try:
        headers = (entry / _HEADERS).read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    folder = entry / _state(headers)
    return folder if _is_whole(folder) else None


def _state(headers: Sequence[str]) -> str:
    """Names the contents of headers."""
    state = hashlib.sha256()
    for header in headers:
        try:
            content = Path(header).read_bytes()
        except OSError:
            content = b"missing"
        state.update(f"{header}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    return state.hexdigest()[:16]


def _is_whole(entry: Path) -> bool:
    """Whether a folder is complete, and its files are as they were written: the loader would crash
    on half a library.
    """
    try:
        written = (entry / _CHECKSUMS).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if written and written == _checksums(entry):
        return True
    warnings.warn(f"flambeau.ops.load: {entry} is damaged and is compiled anew", stacklevel=5)
    return False


def _checksums(entry: Path) -> bytes:
    files = sorted(entry.glob("*.so"))
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    return "".join(lines).encode()


def _fill(entry: Path, make: Callable[[Path], Made]) -> Path:
    with tempfile.TemporaryDirectory(prefix="work-", dir=entry) as work:
        made = make(Path(work))
        headers = [str(header) for header in made.headers]
        folder = entry / _state(headers)
        folder.mkdir(exist_ok=True)
        (folder / _CHECKSUMS).unlink(missing_ok=True)
        for old in folder.glob("*.so"):
            old.unlink()  # another program may run it: its file must not be written to
        for file in made.files:
            file.rename(folder / file.name)
        _put(folder / _CHECKSUMS, _checksums(folder), Path(work))
        _put(entry / _HEADERS, "".join(f"{header}\n" for header in headers).encode(), Path(work))
    return folder


def _put(path: Path, content: bytes, work: Path) -> None:
    """Writes a file at once."""
    whole = work / path.name
    whole.write_bytes(content)
    whole.rename(path)


def _require_writable(entry: Path) -> None:
    advice = "set FLAMBEAU_CACHE to a folder that can be"
    try:
        entry.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"flambeau.ops.load: {entry} cannot be written ({error.strerror}); {advice}"
        raise type(error)(error.errno, message) from None
    if not os.access(entry, os.W_OK | os.X_OK):
        raise PermissionError(f"flambeau.ops.load: {entry} cannot be written; {advice}")
