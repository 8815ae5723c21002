"""Files that are there completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether something other than a file stands at a path: /dev/null, a pipe, a folder."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[int]:
    """The descriptor of a new file that stands at `path` when the block ends.

    Until then the old file stands there: also when the block fails, or the process is killed. The
    content is on the disk before the name is. Links are followed, and the permissions of the old
    file stay.

    Raises:
        PermissionError: the folder takes no new files.
    """
    target = os.path.realpath(path)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY)
    try:
        with _new_file(folder, target, old) as descriptor:
            yield descriptor
        os.fsync(folder)
    finally:
        os.close(folder)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Puts a file with `data` in the place of what stands there."""
    with replacing(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
        file.write(data)


@contextmanager
def _new_file(folder: int, target: str, old: os.stat_result | None) -> Iterator[int]:
    name = os.path.basename(target)
    beside = f".{name[:200]}.{secrets.token_hex(8)}.tmp"
    descriptor, is_named = _create(folder, beside, target)
    try:
        yield descriptor
        if old is not None:
            with suppress(PermissionError):  # another's file: the new one is the writer's
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        os.fsync(descriptor)
        if not is_named:
            # Only through a path does link() follow to what a descriptor is open for.
            os.link(f"/proc/self/fd/{descriptor}", beside, src_dir_fd=folder, dst_dir_fd=folder)
            is_named = True
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        is_named = False
    finally:
        if is_named:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
        os.close(descriptor)


def _create(folder: int, beside: str, target: str) -> tuple[int, bool]:
    """A new file, without a name where the file system can: a killed process leaves nothing."""
    if os.path.isdir("/proc/self/fd"):
        try:
            return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o666, dir_fd=folder), False
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
                raise _explained(error, target) from error
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        return os.open(beside, flags, 0o666, dir_fd=folder), True
    except OSError as error:
        raise _explained(error, target) from error


def _explained(error: OSError, target: str) -> OSError:
    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
        return error
    return PermissionError(
        error.errno,
        f"{error.strerror}: a new file is written beside the old one, and the folder takes none; "
        "pass open(path, 'wb') to write over the old one",
        target,
    )
