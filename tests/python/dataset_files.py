"""Writes files as the datasets' authors did: IDX, and pickles of Python 2."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

_IDX = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def idx(array: np.ndarray[Any, Any]) -> bytes:
    """A file of the IDX format."""
    head = bytes([0, 0, _IDX[array.dtype.str[1:]], array.ndim])
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return head + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_mnist(folder: Path, counts: tuple[int, int] = (20, 8), packed: bool = True) -> None:
    """The four files of MNIST, with pixels and labels that follow from their numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in zip(("train", "t10k"), counts, strict=True):
        for what, array in (
            ("images-idx3-ubyte", mnist_images(count)),
            ("labels-idx1-ubyte", np.arange(count, dtype=np.uint8) % 10),
        ):
            data = idx(array)
            path = folder / (f"{name}-{what}" + (".gz" if packed else ""))
            path.write_bytes(gzip.compress(data) if packed else data)


def mnist_images(count: int) -> np.ndarray[Any, Any]:
    return (np.arange(count * 28 * 28) % 251).astype(np.uint8).reshape(count, 28, 28)


class Python2Pickle:
    """Instructions of a pickle, protocol 2, as Python 2's cPickle writes them."""

    def __init__(self) -> None:
        self.code = bytearray(b"\x80\x02")
        self.kept = 0

    def keep(self) -> None:
        small = self.kept < 256
        self.code += b"q" + bytes([self.kept]) if small else b"r" + struct.pack("<I", self.kept)
        self.kept += 1

    def value(self, value: Any) -> None:
        if value is None or isinstance(value, bool):
            self.code += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, int):
            if 0 <= value < 256:
                self.code += b"K" + bytes([value])
            elif 0 <= value < 65536:
                self.code += b"M" + struct.pack("<H", value)
            else:
                self.code += b"J" + struct.pack("<i", value)
        elif isinstance(value, bytes):
            short = len(value) < 256
            self.code += (
                b"U" + bytes([len(value)]) if short else b"T" + struct.pack("<i", len(value))
            )
            self.code += value
            self.keep()
        elif isinstance(value, list):
            self.code += b"]"
            self.keep()
            self.code += b"("
            for element in value:
                self.value(element)
            self.code += b"e"
        elif isinstance(value, dict):
            self.code += b"}"
            self.keep()
            self.code += b"("
            for key, element in value.items():
                self.value(key)
                self.value(element)
            self.code += b"u"
        else:
            self.array(value)

    def array(self, array: np.ndarray[Any, Any]) -> None:
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self.code += b"cnumpy.core.multiarray\n_reconstruct\n"
        self.keep()
        self.code += b"cnumpy\nndarray\n"
        self.keep()
        self.code += b"K\x00\x85U\x01b\x87R"
        self.keep()
        self.code += b"(K\x01"
        for size in array.shape:
            self.value(size)
        self.code += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[array.ndim]
        self.code += b"cnumpy\ndtype\n"
        self.keep()
        self.code += b"U\x02" + array.dtype.str[1:].encode() + b"K\x00K\x01\x87R"
        self.keep()
        self.code += b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        self.code += b"\x88" if fortran else b"\x89"
        self.code += b"T" + struct.pack("<i", array.nbytes) + array.tobytes("A") + b"tb"


def python2_pickle(value: Any) -> bytes:
    """A pickle of dicts, lists, ints, bytes and arrays of bytes."""
    writer = Python2Pickle()
    writer.value(value)
    return bytes(writer.code) + b"."


def cifar_images(start: int, count: int) -> np.ndarray[Any, Any]:
    first = np.arange(start, start + count).reshape(-1, 1) * 7
    return ((first + np.arange(3072)) % 253).astype(np.uint8)


def cifar10_files(count: int = 4) -> dict[str, bytes]:
    """Contents by name: five batches, a test batch and the names of the classes."""
    files = {}
    for i, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        batch = {
            b"batch_label": b"training batch 1 of 5",
            b"labels": [(i * count + n) % 10 for n in range(count)],
            b"data": cifar_images(i * count, count),
            b"filenames": [b"image_%d.png" % n for n in range(count)],
        }
        files[f"cifar-10-batches-py/{name}"] = python2_pickle(batch)
    names = [b"airplane", b"automobile", b"bird", b"cat", b"deer"]
    names += [b"dog", b"frog", b"horse", b"ship", b"truck"]
    meta = {b"num_cases_per_batch": count, b"label_names": names, b"num_vis": 3072}
    files["cifar-10-batches-py/batches.meta"] = python2_pickle(meta)
    return files


def cifar100_files(count: int = 6) -> dict[str, bytes]:
    """The same for a hundred classes."""
    files = {}
    for start, name in ((0, "train"), (count, "test")):
        batch = {
            b"filenames": [b"image_%d.png" % n for n in range(count)],
            b"fine_labels": [(start + n) * 5 % 100 for n in range(count)],
            b"coarse_labels": [n % 20 for n in range(count)],
            b"data": np.asfortranarray(cifar_images(start, count)),
        }
        files[f"cifar-100-python/{name}"] = python2_pickle(batch)
    meta = {b"fine_label_names": [b"thing %d" % n for n in range(100)]}
    files["cifar-100-python/meta"] = python2_pickle(meta)
    return files


def packed(files: dict[str, bytes]) -> bytes:
    """A .tar.gz archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
