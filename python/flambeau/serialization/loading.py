"""`load`: which format a file has, and reading it."""

from __future__ import annotations

import codecs
import os
from typing import IO, Any

MapLocation = Any


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
) -> Any:
    """Reads what `save` or PyTorch's `torch.save` wrote, or a safetensors file.

    Tensors that shared memory share it again. Reading checks the checksums of the file, and never
    takes more memory than the file has bytes, and a little.

    Args:
        f: a path, or a binary file open for reading and seeking, which is read from where it
            stands.
        map_location: where tensors go: a device or its name, a dict of device names, or a function
            of (storage, device name) that returns a storage or None; None: where they were.
        pickle_module: unpickles instead of `pickle`, with `weights_only=False`.
        weights_only: refuse files that name anything but tensors, containers and numbers (and what
            `add_safe_globals` allows); None means True. False runs whatever the file says: for
            trusted files only.
        mmap: leave tensors in the file until they are touched; what is written to them stays in
            this process. Nothing is checked then, and the file must neither change nor shrink
            while they are alive. None: only for safetensors files, which have no checksums.
        encoding: of strings that Python 2 wrote; "bytes" leaves them as bytes.

    Raises:
        pickle.UnpicklingError: the file names something that is not allowed, or its pickle is
            damaged; the message says where and why.
        RuntimeError: the file is damaged, or of none of these formats.
        ValueError: `mmap=True` without a path.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> flambeau.save({"x": flambeau.arange(3)}, file)
        >>> _ = file.seek(0)
        >>> flambeau.load(file)
        {'x': tensor([0, 1, 2])}
    """
    from flambeau.serialization.locations import Locator
    from flambeau.serialization.request import Request
    from flambeau.serialization.source import opened

    if weights_only is None:
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: a pickle_module needs weights_only=False")
    if encoding != "bytes":
        codecs.lookup(encoding)
    request = Request(Locator(map_location), weights_only, mmap, encoding, pickle_module)
    with opened(f, bool(mmap)) as source:
        return _load(source, request)


def _load(source: Any, request: Any) -> Any:
    from flambeau.serialization import legacy, safetensors, tar_format, zip_format, zip_reader
    from flambeau.serialization.problems import UnreadableFileError

    if source.size == 0:
        raise UnreadableFileError(
            source.name, "there is nothing to read; a file object is read from where it stands"
        )
    if source.read(0, min(4, source.size)) in (zip_reader.SIGNATURE, b"PK\x05\x06"):
        return zip_format.load(source, request)
    for other in (tar_format, legacy, safetensors):
        if other.begins(source):
            return other.load(source, request)
    raise UnreadableFileError(
        f"{source.name} is not a file written by flambeau.save or torch.save, nor of safetensors"
    )
