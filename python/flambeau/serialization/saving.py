"""`save`: an object with its tensors to a file."""

from __future__ import annotations

import os
import warnings
from typing import IO, Any

import flambeau
from flambeau import _C, UntypedStorage
from flambeau._values import brief
from flambeau.serialization import skipping


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object with its tensors, in the format of PyTorch's `torch.save`.

    A path has the new file whole or the old one: the new one is written beside it, brought to the
    disk, and renamed. Storages stand in the file once, whatever number of tensors share them, at
    multiples of 64 bytes, with a CRC-32.

    Args:
        obj: tensors, parameters, containers of them, anything that pickles.
        f: a path, or a binary file open for writing.
        pickle_module: `pickle`, and nothing else; for the sake of calls that name it.
        pickle_protocol: of the part that is not tensor data; PyTorch reads 2.
        _use_new_zipfile_serialization: False warns: the file is a zip archive in any case, which
            PyTorch reads since 1.6.
        _disable_byteorder_record: leaves out the record that says how numbers are written.

    Raises:
        pickle.PicklingError: a part of `obj` cannot be pickled.
        OSError: the file cannot be written; then an old one is what it was.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> flambeau.save({"weight": flambeau.ones(2), "epoch": 3}, file)
        >>> _ = file.seek(0)
        >>> flambeau.load(file)
        {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    import pickle  # here: it costs the import of flambeau a twentieth of its time

    from flambeau.serialization.pickler import Pickled
    from flambeau.serialization.zip_writer import ObjectSink

    if pickle_module is not None and pickle_module is not pickle:
        raise ValueError(f"save: pickle_module must be pickle, got {brief(pickle_module)}")
    if not 1 <= pickle_protocol <= 5:
        raise ValueError(f"save: pickle_protocol must be from 1 to 5, got {pickle_protocol}")
    if not _use_new_zipfile_serialization:
        warnings.warn(
            "save: the format before PyTorch 1.6 is not written; this file is a zip archive",
            stacklevel=2,
        )
    pickled = Pickled(obj, pickle_protocol)
    tells_order = not _disable_byteorder_record
    if isinstance(f, str | os.PathLike):
        _save_to_path(pickled, f, tells_order)
    elif callable(getattr(f, "write", None)):
        _write(pickled, ObjectSink(f), "archive", tells_order)
    else:
        raise AttributeError(f"save: f must be a path or a file, got {type(f).__name__}")


def _save_to_path(pickled: Any, path: str | os.PathLike[str], tells_order: bool) -> None:
    from flambeau._whole_files import is_device, replacing
    from flambeau.serialization.zip_writer import FileSink, ObjectSink

    if is_device(path):
        with open(path, "wb") as file:
            _write(pickled, ObjectSink(file), "archive", tells_order)
        return
    stem = os.path.splitext(os.path.basename(os.fsdecode(path)))[0]
    with replacing(path) as descriptor:
        # A disk without room says so before anything is written.
        _C._reserve_file(descriptor, sum(storage.nbytes() for storage in pickled.storages))
        _write(pickled, FileSink(descriptor), stem or "archive", tells_order)


def _write(pickled: Any, sink: Any, name: str, tells_order: bool) -> None:
    from flambeau.serialization.zip_writer import ALIGNMENT, ZipWriter

    archive = ZipWriter(sink)
    check = archive.add(f"{name}/data.pkl", pickled.content)
    archive.add(f"{name}/.format_version", b"1")
    archive.add(f"{name}/.storage_alignment", str(ALIGNMENT).encode())
    if tells_order:
        archive.add(f"{name}/byteorder", b"little")
    sums = [
        archive.add(f"{name}/data/{number}", _content(storage))
        for number, storage in enumerate(pickled.storages)
    ]
    archive.add(f"{name}/version", b"3\n")
    # Two numbers of 20 digits that depend on what is in the file.
    identity = f"{check:020d}{hash((check, *sums)) & (1 << 64) - 1:020d}"
    archive.add(f"{name}/.data/serialization_id", identity.encode())
    archive.finish()


def _content(storage: UntypedStorage) -> Any:
    """The bytes of a storage, where a file can take them from."""
    if skipping.active():
        return skipping.zeros(storage.nbytes())
    if storage.device.type == "meta":
        raise RuntimeError("save: a storage on the device meta has no content")
    if storage.device.type != "cpu":
        whole = storage._view(flambeau.uint8, 0, (storage.nbytes(),), (1,))
        storage = whole.cpu().untyped_storage()
    return memoryview(storage)  # type: ignore[arg-type]
