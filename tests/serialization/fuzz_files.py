"""Loads damaged and forged files of every format, and watches what becomes of it.

    python tests/serialization/fuzz_files.py --files 20000

A file is one of good ones with bytes, numbers or parts of it changed; of zip archives, also with a
changed pickle whose checksum is right. Children with a limit of 1 GB of memory load them. A crash,
a hang, anything that runs or opens something, an exception other than UnpicklingError and
RuntimeError, a changed library, and values that are not the good file's where checksums would have
told: each is a finding. The exit status is 1 where there is one.
"""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import pickle
import random
import struct
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]

from file_described import described  # noqa: E402
from file_pickles import (  # noqa: E402
    Call,
    Global,
    Persistent,
    pickled,
    tar_file,
    tar_storage,
    tar_tensor,
    zipped,
)
from file_state import library_state  # noqa: E402
from fuzz_supervisor import Tally, Task, run  # noqa: E402
from fuzz_worker import Channel, Finding  # noqa: E402

import flambeau  # noqa: E402

FORMATS = ("zip", "pickle", "legacy", "tar", "first", "safetensors", "packed")
_NUMBERS = (0, 1, 2, 127, 128, 255, 256, 65535, 1 << 20, 1 << 28, (1 << 31) - 1, 1 << 31,
            (1 << 32) - 1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
# What Python tells of itself that loading a file has no reason to do.
_FORBIDDEN = ("os.", "subprocess.", "open", "exec", "compile", "import", "pickle.", "socket.",
              "ctypes.", "shutil.", "builtins.input", "sys.", "mmap.")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file, and what it was made from."""

    name: str
    data: bytes
    original: bytes
    checked: bool  # whether checksums tell every change


# Good files -----------------------------------------------------------------------------------


def _tar(layout: int) -> bytes:
    floats, tensor = Global("torch", "FloatStorage"), Global("torch", "FloatTensor")
    numbers = struct.pack("<6f", *range(6))
    storage = (10, floats) if layout == 1 else (10, "cpu", floats)
    record = (20, tensor, 10) if layout == 1 else (20, 10, tensor)
    views = b"" if layout == 1 else pickled([(30, 10, 3, 2)])
    return tar_file({
        "pickle": pickled({"a": Persistent("20"), "b": [Persistent("10")]}),
        "tensors": pickled(1) + tar_tensor(record, (2, 3), (3, 1), 0),
        "storages": pickled(1) + tar_storage(storage, 6, numbers) + views,
    })  # fmt: skip


def _first() -> bytes:
    rebuild = Global("flambeau.serialization", "_rebuild_tensor")
    dtype = Global("flambeau", "float32")
    parts = (Persistent(("storage", 0, "cpu")), dtype, 0, (2, 3), (3, 1), False)
    value = {"a": Call(rebuild, parts), "s": Call(Global("flambeau", "Size"), ([1, 2],))}
    entries = {"version": b"1", "structure.pkl": pickled(value), "storages/0": bytes(24)}
    return zipped(entries, prefix="flambeau/")


def _safetensors() -> bytes:
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(range(32))


def _packed(data: bytes) -> bytes:
    """The same archive with compressed entries."""
    content = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return content.getvalue()


@cache
def good(form: str) -> tuple[bytes, ...]:
    """Files of a format that are read."""
    if form == "tar":
        return _tar(1), _tar(2)
    if form == "first":
        return (_first(),)
    if form == "safetensors":
        return (_safetensors(),)
    kind = "legacy" if form == "legacy" else "zip"
    files = tuple(path.read_bytes() for path in sorted(HERE.glob(f"files/[a-q]*.{kind}.pt")))
    if form == "packed":
        return tuple(map(_packed, files[:20]))
    own = io.BytesIO()
    flambeau.save({"x": flambeau.arange(5), "y": [flambeau.nn.Parameter(flambeau.ones(2))]}, own)
    return files if kind == "legacy" else (*files, own.getvalue())


# Changes --------------------------------------------------------------------------------------


def changed(data: bytes, others: tuple[bytes, ...], chance: random.Random) -> bytes:
    """A file with some of its bytes changed, moved, left out or taken from another."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        if not content:
            break
        at = chance.randrange(len(content))
        length = chance.choice((1, 2, 4, 8, 16, 60))
        match chance.randrange(8):
            case 0 | 1:
                content[at] ^= 1 << chance.randrange(8)
            case 2:
                content[at] = chance.randrange(256)
            case 3:
                size = chance.choice((1, 2, 4, 8))
                number = chance.choice(_NUMBERS) % (1 << 8 * size)
                content[at : at + size] = number.to_bytes(size, chance.choice(("little", "big")))
            case 4:
                del content[at : at + length]
            case 5:
                begin = chance.randrange(len(content))
                content[at:at] = content[begin : begin + length]
            case 6:
                other = chance.choice(others)
                begin = chance.randrange(len(other))
                content[at : at + length] = other[begin : begin + length]
            case 7:
                if chance.random() < 0.3:
                    del content[at:]
                else:
                    content[at:at] = chance.randbytes(length)
    return bytes(content)


def damaged(seed: int, form: str, number: int) -> Damaged:
    """The file of a number, the same in every process."""
    chance = random.Random(f"{seed} {form} {number}")
    files = good(form)
    original = chance.choice(files)
    name = f"{form} {number}"
    if form != "pickle":
        data = changed(original, files, chance)
        return Damaged(name, data, original, form in ("zip", "packed"))
    with zipfile.ZipFile(io.BytesIO(original)) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    (content,) = (entry for entry in entries if entry.endswith("/data.pkl"))
    pickles = tuple(_pickles())
    entries[content] = changed(entries[content], pickles, chance)
    return Damaged(name, zipped(entries, prefix=""), original, False)


@cache
def _pickles() -> list[bytes]:
    found = []
    for data in good("zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found += [archive.read(name) for name in archive.namelist() if "data.pkl" in name]
    return found


# Loading them ---------------------------------------------------------------------------------


class Watch:
    """What Python tells of itself while a file is loaded."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: Any) -> None:
        if self.on and event.startswith(_FORBIDDEN):
            self.seen.append(f"{event} {arguments!r:.100}")


@cache
def expected(original: bytes) -> Any:
    return described(flambeau.load(io.BytesIO(original)), flambeau)


def load_all(
    channel: Channel, write: Callable[[Finding], None], programs: Iterable[tuple[int, Damaged]]
) -> None:
    """In a child: loads files, and writes what is wrong."""
    # What loads on first use is there.
    for codec in ("raw_unicode_escape", "cp437", "ascii", "latin-1"):
        codecs.lookup(codec)
    for form in FORMATS:
        for data in good(form):
            expected(data)
    watch = Watch()
    before = library_state()
    number = -1
    for number, file in programs:
        channel.write(number, [f"{file.name}: {file.data.hex()}"])
        found = _load(file, watch, channel)
        if found is not None:
            write(Finding(*found, file.name.split()[0], number, (file.data.hex(),)))
    if library_state() != before:
        write(Finding("changed library", "after the batch that ends here", "", number, ()))


def _load(file: Damaged, watch: Watch, channel: Channel) -> tuple[str, str] | None:
    watch.seen.clear()
    watch.on = True
    began = time.monotonic()
    try:
        loaded = flambeau.load(io.BytesIO(file.data))
    except (pickle.UnpicklingError, RuntimeError) as error:
        watch.on = False
        if not str(error).startswith("load: ") or len(str(error)) > 2000:
            return "message", f"{type(error).__name__}: {str(error)[:300]}"
    except BaseException as error:
        watch.on = False
        return "exception", f"{type(error).__name__}: {error}"
    else:
        watch.on = False
        channel.worked += 1
        words = described(loaded, flambeau)
        if file.checked and words != expected(file.original):
            return "wrong data", f"{words!r:.300}"
    finally:
        watch.on = False
    if watch.seen:
        return "execution", "; ".join(watch.seen)[:300]
    if time.monotonic() - began > 2:
        return "slow", f"{time.monotonic() - began:.1f} s"
    return None


def fuzz(seed: int, form: str, count: int, jobs: int, first: int = 0) -> Tally:
    """Loads so many files of a format."""
    task = Task(lambda number: damaged(seed, form, number), load_all)
    return run(task, range(first, first + count), jobs, min(1000, max(50, count // jobs)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/serialization/fuzz_files.py",
                                     description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--files", type=int, default=2000, help="of each format (%(default)s)")
    parser.add_argument("--format", choices=FORMATS, action="append", help="all unless named")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    wrong = 0
    for form in options.format or FORMATS:
        began = time.monotonic()
        tally = fuzz(options.seed, form, options.files, options.jobs, options.first)
        rate = tally.calls / (time.monotonic() - began)
        print(f"{form}: {tally.calls} files, {tally.worked} loaded, {rate:.0f} a second, "
              f"{len(tally.findings)} findings", flush=True)  # fmt: skip
        wrong += len(tally.findings)
        kinds = Counter((f.kind, f.detail) for f in tally.findings)
        for (kind, detail), times in kinds.most_common(20):
            number = next(f.number for f in tally.findings if (f.kind, f.detail) == (kind, detail))
            print(f"  {times} x {kind}, first file {number}: {detail}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
