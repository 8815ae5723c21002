"""What was read from many declarations, kept for other processes in the user's cache folder.

Reading the library takes seconds; building the same objects from a file takes less than one. A file
is named after all that it follows from: the declarations, the generator and Python.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from flambeau._build.user_cache import user_cache
from flambeau.codegen.read.no_collection import no_collection
from flambeau.codegen.read.state import state_of
from flambeau.codegen.text.excerpt import remember_source

T = TypeVar("T")

_WORTH_KEEPING = 200_000  # characters: less is read in a moment
_FILES = 4  # of the library's states that were used last
_DIGEST = hashlib.sha256().digest_size


def kept(texts: Mapping[str, str], read: Callable[[], tuple[T, bool]]) -> T:
    """What `read` makes of the texts of files, or another process made of them. `read` says too
    whether it may be kept: no mistake was found.
    """
    if sum(map(len, texts.values())) < _WORTH_KEEPING:
        return read()[0]
    file = user_cache() / "declarations" / f"{state_of(texts)}.pickle"
    with no_collection():
        found: T | None = _take(file)
        if found is not None:
            for name, text in texts.items():
                remember_source(name, text)  # which diagnostics and pages quote
            return found
        made, is_sound = read()
        if is_sound:
            _put(file, made)
    return made


def _take(file: Path) -> Any | None:
    """None where there is no file, or it is not as it was written."""
    try:
        content = file.read_bytes()
        os.utime(file)
    except OSError:  # it may be deleted at any time
        return None
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        return None
    return pickle.loads(memoryview(content)[_DIGEST:])


def _put(file: Path, made: object) -> None:
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(made)
    content = stream.getvalue()
    # Where the cache cannot be written, the declarations are read each time.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="work-", dir=file.parent) as work:
            whole = Path(work) / file.name
            whole.write_bytes(hashlib.sha256(content).digest() + content)
            whole.replace(file)
        for old in sorted(file.parent.glob("*.pickle"), key=_last_used)[:-_FILES]:
            old.unlink(missing_ok=True)


def _last_used(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


class _Pickler(pickle.Pickler):
    """Data classes are made anew from what their constructor takes: what they remember beside that,
    as hashes of strings, holds in one process alone.
    """

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, type) or not is_dataclass(value):
            return NotImplemented
        of: Any = type(value)
        positional, keywords = _given(of)
        given = tuple([getattr(value, name) for name in positional])
        if not keywords:
            return of, given
        return _construct, (of, given, {name: getattr(value, name) for name in keywords})


def _construct(of: Callable[..., T], given: tuple[object, ...], by_name: dict[str, object]) -> T:
    return of(*given, **by_name)


@cache
def _given(of: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a data class's constructor takes by place, and by name."""
    given = [field for field in fields(of) if field.init]
    positional = tuple(field.name for field in given if not field.kw_only)
    return positional, tuple(field.name for field in given if field.kw_only)
