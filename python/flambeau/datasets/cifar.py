"""Small photographs of things: 60,000 colour images of 32x32 pixels each."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau._whole_files import write_whole
from flambeau.datasets.downloads import download as fetch
from flambeau.datasets.labelled_images import ImagesInMemory, Transform
from flambeau.datasets.python2_pickle import read_python2_pickle
from flambeau.serialization.problems import told_of
from flambeau.serialization.tar_format import BLOCK, filled, read_header
from flambeau.serialization.tensors import refused

_PIXELS = 3 * 32 * 32
# Bytes of a file that is taken out of an archive: so many, and so many times the archive.
_LARGEST, _MOST_GROWTH, _SMALL = 1 << 28, 32, 1 << 20


class CIFAR10(ImagesInMemory):
    """Ten kinds of animals and vehicles (Krizhevsky 2009): 50,000 images to train with, 10,000 to
    test.

    The files lie in `root/cifar-10-batches-py`, and are taken out of the archive in `root` if they
    do not. They are pickles, which are read without running anything.

    Args:
        root: the folder of that folder.
        train: the images to train with, else those to test.
        transform: changes images, which are tensors of uint8 of shape (3, 32, 32).
        target_transform: changes classes, which are ints.
        download: fetch the archive if files are not there.

    Attributes:
        data: all images, of shape (N, 3, 32, 32).
        targets: all classes, of shape (N,).
        classes: their names.

    Raises:
        RuntimeError: if files are missing or broken, or cannot be fetched.

    Example:
        >>> flambeau.datasets.CIFAR10("data")
        Traceback (most recent call last):
            ...
        RuntimeError: CIFAR10: data/cifar-10-batches-py lacks data_batch_1, ..., batches.meta, and
        there is no cifar-10-python.tar.gz in data; download=True fetches it
    """

    url: ClassVar[str] = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    checksum: ClassVar[str] = "md5:c58f30108f718f92721af3b95e74349a"
    folder: ClassVar[str] = "cifar-10-batches-py"
    train_files: ClassVar[tuple[str, ...]] = tuple(f"data_batch_{i}" for i in range(1, 6))
    test_files: ClassVar[tuple[str, ...]] = ("test_batch",)
    names_file: ClassVar[str] = "batches.meta"
    labels_key: ClassVar[bytes] = b"labels"
    names_key: ClassVar[bytes] = b"label_names"

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        self.train = train
        self._provide(download)
        self.classes = self._names()
        parts = [self._part(name) for name in (self.train_files if train else self.test_files)]
        self.data = flambeau.cat([images for images, _ in parts])
        self.targets = flambeau.cat([labels for _, labels in parts])
        self._check(self.root / self.folder)

    def _provide(self, download: bool) -> None:
        names = (*self.train_files, *self.test_files, self.names_file)
        missing = [name for name in names if not (self.root / self.folder / name).is_file()]
        if not missing:
            return
        archive = self.root / self.url.rpartition("/")[2]
        if download:
            fetch(self.url, archive, self.checksum)
        elif not archive.is_file():
            raise RuntimeError(
                f"{type(self).__name__}: {self.root / self.folder} lacks {', '.join(missing)}, and "
                f"there is no {archive.name} in {self.root}; download=True fetches it"
            )
        _take_out(archive, [f"{self.folder}/{name}" for name in missing], self.root)

    def _read(self, name: str) -> dict[bytes, Any]:
        path = self.root / self.folder / name
        try:
            found = read_python2_pickle(path.read_bytes(), f"'{path}'")
        except pickle.UnpicklingError as error:
            raise RuntimeError(f"{type(self).__name__}: {error}") from error
        if type(found) is not dict:
            raise self._wrong(name, f"no dict, but {brief(found)}")
        return found

    def _names(self) -> tuple[str, ...]:
        names = self._read(self.names_file).get(self.names_key)
        if not isinstance(names, list) or not all(isinstance(name, bytes) for name in names):
            raise self._wrong(self.names_file, f"no list of strings {self.names_key.decode()}")
        return tuple(name.decode("utf-8", "replace") for name in names)

    def _part(self, name: str) -> tuple[Tensor, Tensor]:
        found = self._read(name)
        images, labels = found.get(b"data"), found.get(self.labels_key)
        if not isinstance(images, Tensor) or images.dim() != 2 or images.shape[1] != _PIXELS:
            raise self._wrong(name, f"no array data of shape (N, {_PIXELS})")
        if not isinstance(labels, list) or not all(type(label) is int for label in labels):
            raise self._wrong(name, f"no list of ints {self.labels_key.decode()}")
        if len(labels) != len(images):
            raise self._wrong(name, f"{len(images)} images, but {len(labels)} labels")
        if labels and not 0 <= min(labels) <= max(labels) < len(self.classes):
            raise self._wrong(name, f"labels outside [0, {len(self.classes) - 1}]")
        return images.reshape(-1, 3, 32, 32), flambeau.tensor(labels, dtype=flambeau.int64)

    def _wrong(self, name: str, what: str) -> RuntimeError:
        return RuntimeError(f"{self.root / self.folder / name} has {what}")


class CIFAR100(CIFAR10):
    """A hundred kinds of things, in the form of `CIFAR10`; its files lie in
    `root/cifar-100-python`.

    Args:
        root: the folder of that folder.
        train: the images to train with, else those to test.
        transform: changes images, which are tensors of uint8 of shape (3, 32, 32).
        target_transform: changes classes, which are ints.
        download: fetch the archive if files are not there.

    Raises:
        RuntimeError: if files are missing or broken, or cannot be fetched.

    Example:
        >>> flambeau.datasets.CIFAR100("data")
        Traceback (most recent call last):
            ...
        RuntimeError: CIFAR100: data/cifar-100-python lacks train, test, meta, and there is no
        cifar-100-python.tar.gz in data; download=True fetches it
    """

    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    checksum = "md5:eb9058c3a382ffc7106e4002c42a8d85"
    folder = "cifar-100-python"
    train_files = ("train",)
    test_files = ("test",)
    names_file = "meta"
    labels_key = b"fine_labels"
    names_key = b"fine_label_names"


def _take_out(archive: Path, names: list[str], root: Path) -> None:
    """Takes files of given names out of an archive; whatever else it has stays there."""
    found: dict[str, bytes] = {}
    most = min(_LARGEST, _MOST_GROWTH * archive.stat().st_size + _SMALL)
    try:
        with told_of(f"'{archive}'"), gzip.open(archive) as content:
            while any(header := content.read(BLOCK)):
                name, size, is_file = read_header(header)
                rest = filled(size)
                if is_file and name in names:
                    if size > most:
                        raise refused(f"'{name}' has {size} bytes")
                    found[name] = content.read(size)
                    if len(found[name]) != size:
                        raise refused(f"it ends within '{name}'")
                    rest -= size
                content.seek(rest, os.SEEK_CUR)
            while content.read(BLOCK):  # to the checksum at the end
                pass
    except (pickle.UnpicklingError, OSError) as error:
        raise RuntimeError(f"{archive} is no archive, or broken: {error}") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise RuntimeError(f"{archive} lacks {', '.join(missing)}")
    for name, data in found.items():
        _write(root / name, data)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
