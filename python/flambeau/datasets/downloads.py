"""Files from the network: checked, continued where they broke off, never half there."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from flambeau._bars import progress_bar
from flambeau._values import brief
from flambeau._version import __version__

_CHUNK = 1 << 16
_ATTEMPTS = 4
_FINAL = range(400, 500)  # answers that another attempt would not change


class _Broken(Exception):
    """The connection failed; another attempt may go on."""


def download(
    url: str | Sequence[str],
    path: str | os.PathLike[str],
    checksum: str | None = None,
    *,
    progress: bool | None = None,
    timeout: float = 30.0,
) -> Path:
    """Fetches a file, unless it is there already.

    What arrives is kept in `NAME.part` beside it. A connection that breaks is taken up again where
    it broke, by this call a few times and, if there is a checksum, by later ones. The file gets
    its name when all of it is there and right. Processes that want the same file wait for one.

    Args:
        url: where it is, or several places that are tried in turn.
        path: of the file; its folder is made if need be.
        checksum: "md5:..." or "sha256:...", in hexadecimal digits.
        progress: show a bar; None: if standard output is a terminal.
        timeout: seconds without any data after which a connection counts as broken.

    Returns:
        The path.

    Raises:
        ValueError: for a checksum of another form.
        RuntimeError: if no place gives the file, or the file has another checksum.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     here = pathlib.Path(folder, "here")
        ...     _ = here.write_text("abc")
        ...     url = here.as_uri()  # file:..., as well as https:...
        ...     path = download(url, here.with_name("copy"), "md5:900150983cd24fb0d6963f7d28e17f72")
        ...     path.read_text()
        'abc'
    """
    urls = [url] if isinstance(url, str) else list(url)
    final = Path(path)
    wanted = _parsed(checksum)
    final.parent.mkdir(parents=True, exist_ok=True)
    with _alone(final.with_name(f"{final.name}.part")) as part:
        if final.exists() and (wanted is None or _digest(final, wanted[0]) == wanted[1]):
            return final
        if wanted is None:
            os.truncate(part, 0)  # it may be of another version of the file
        show = sys.stdout.isatty() if progress is None else progress
        failures = []
        for place in urls:
            try:
                _fetch(place, part, wanted, show, timeout)
            except RuntimeError as error:
                failures.append(str(error))
                continue
            with part.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(part, final)
            return final
    raise RuntimeError(f"download: {final.name}: " + "; ".join(failures or ["no url is given"]))


def _parsed(checksum: str | None) -> tuple[str, str] | None:
    if checksum is None:
        return None
    kind, _, digits = checksum.partition(":")
    if kind not in ("md5", "sha256"):
        raise ValueError(
            f"download: checksum must be 'md5:...' or 'sha256:...', got {brief(checksum)}"
        )
    return kind, digits.lower()


@contextmanager
def _alone(part: Path) -> Iterator[Path]:
    """Holds the unfinished file, which is made if need be, against other processes."""
    while True:
        with part.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Who held it before may have given it its name.
            if not part.exists() or not os.path.samestat(os.fstat(file.fileno()), part.stat()):
                continue
            try:
                yield part
            finally:
                if part.exists() and part.stat().st_size == 0:
                    part.unlink()
            return


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(kind, usedforsecurity=False)
        ).hexdigest()


def _fetch(
    url: str, part: Path, wanted: tuple[str, str] | None, show: bool, timeout: float
) -> None:
    """Completes the unfinished file from one place."""
    continued = part.stat().st_size > 0
    _complete(url, part, show, timeout)
    if wanted is None:
        return
    kind, digits = wanted
    found = _digest(part, kind)
    if found != digits and continued:
        # What an earlier call left may be of another version of the file.
        os.truncate(part, 0)
        _complete(url, part, show, timeout)
        found = _digest(part, kind)
    if found != digits:
        os.truncate(part, 0)
        raise RuntimeError(f"{url} gave a file whose {kind} is {found}, not {digits}")


def _complete(url: str, part: Path, show: bool, timeout: float) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _receive(url, part, show, timeout)
            return
        except _Broken as error:
            if attempt == _ATTEMPTS:
                size = part.stat().st_size
                message = f"{url} broke off after {size} bytes, {_ATTEMPTS} times: {error}"
                raise RuntimeError(message) from error


def _receive(url: str, part: Path, show: bool, timeout: float) -> None:
    """Appends what is missing, as far as the connection lasts."""
    start = part.stat().st_size
    headers = {"User-Agent": f"flambeau/{__version__}"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        answer = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=timeout
        )
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                return  # nothing is missing; else the checksum tells
            if error.code in _FINAL:
                raise RuntimeError(f"{url} answers {error.code} {error.reason}") from error
            raise _Broken(f"answer {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(str(error)) from error
    with answer, part.open("r+b") as file:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0  # the server gives the whole file
        elif _first_byte(answer) != start:
            raise RuntimeError(f"{url} continues at another place than it was asked for")
        file.seek(start)
        file.truncate()
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        with progress_bar(
            desc=part.stem, initial=start, total=total, unit="B", unit_scale=True, disable=not show
        ) as bar:
            got = start + _copy(answer, file, bar)
    if total is not None and got != total:
        raise _Broken(f"the connection was closed after {got} of {total} bytes")


def _first_byte(answer: Any) -> int | None:
    unit, _, places = str(answer.headers.get("Content-Range", "")).partition(" ")
    first = places.partition("-")[0]
    return int(first) if unit == "bytes" and first.isdecimal() else None


def _copy(answer: Any, file: IO[bytes], bar: Any) -> int:
    copied = 0
    while True:
        try:
            data = answer.read(_CHUNK)
        except http.client.IncompleteRead as error:
            data = error.partial
            file.write(data)
            raise _Broken(f"the connection was closed after {file.tell()} bytes") from error
        except (OSError, http.client.HTTPException) as error:
            raise _Broken(str(error)) from error
        if not data:
            return copied
        file.write(data)
        copied += len(data)
        bar.update(len(data))
