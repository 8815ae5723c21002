"""Running programs in a child process: what they raise, what they leave in memory, gradients."""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_prelude
import numpy as np
from fuzz_calls import Program
from fuzz_judge import Judgement, judge

import flambeau
from flambeau.nn.parameter import is_lazy

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
# Seconds that a program may take: calls over all elements are ten times as slow with a sanitizer.
HANG = 40.0 if SANITIZED else 10.0
_DEEPEST = 8  # lists in results that are looked into
GROWTH = 24.0  # bytes that each repetition may leave behind
_PRELUDE = {name: getattr(fuzz_prelude, name) for name in fuzz_prelude.__all__}
_CODE: dict[str, Any] = {}


class _Header(ctypes.Structure):
    """What a worker does now. `worked`: how many programs' calls returned."""

    _fields_ = (
        ("since", ctypes.c_double),
        ("number", ctypes.c_int64),
        ("length", ctypes.c_int64),  # of the text that follows
        ("worked", ctypes.c_int64),
    )


class Channel:
    """Memory that a worker shares with its parent: which program runs, since when, its text."""

    SIZE = 1 << 18

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self.SIZE)
        self._header = _Header.from_buffer(self._memory)
        self.worked = 0
        self.write(-1, ())

    def write(self, number: int, statements: Iterable[str]) -> None:
        """The program's number and its statements, before they run."""
        data = "\n".join(statements).encode("utf-8", "surrogatepass")
        start = ctypes.sizeof(_Header)
        data = data[: self.SIZE - start]
        self._memory[start : start + len(data)] = data
        # Field by field: the parent may look at any moment.
        self._header.since = time.monotonic()
        self._header.number = number
        self._header.length = len(data)
        self._header.worked = self.worked

    def read(self) -> tuple[int, float, list[str], int]:
        """Number, when it began, statements, how many calls worked before."""
        start, header = ctypes.sizeof(_Header), self._header
        text = self._memory[start : start + header.length].decode("utf-8", "replace")
        return header.number, header.since, text.split("\n") if text else [], header.worked


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be."""

    kind: str
    detail: str
    entry: str
    number: int
    statements: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What makes two findings the same: the place in the library, else operator and message."""
        by_place = self.kind in ("sanitizer", "assertion") and " at " in self.detail
        if by_place or self.kind in ("internal words", "SystemError"):
            return self.kind, self.detail
        return f"{self.kind} {self.entry}", self.detail

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def load(text: str) -> Finding:
        fields = json.loads(text)
        return Finding(**{**fields, "statements": tuple(fields["statements"])})


# Memory ------------------------------------------------------------------------------------------


class _MallocInfo(ctypes.Structure):
    """What mallinfo2() returns."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


_SANITIZER = "__sanitizer_get_current_allocated_bytes"


class Memory:
    """How much is allocated now, and the byte that new blocks are full of."""

    def __init__(self) -> None:
        library = next(Path(flambeau.__file__).parent.glob("lib/libflambeau.so")).resolve()
        loaded = ctypes.CDLL(str(library))
        self.fill: Any = None
        self._native = getattr(ctypes.CDLL(None), _SANITIZER, None)
        if hasattr(loaded, "flambeau_fill_byte"):
            self.fill = ctypes.c_ubyte.in_dll(loaded, "flambeau_fill_byte")
        if self._native is not None:
            self._native.restype = ctypes.c_size_t
        else:
            self._mallinfo = ctypes.CDLL(None).mallinfo2
            self._mallinfo.restype = _MallocInfo

    def used(self) -> tuple[int, int]:
        """Bytes outside Python's own heap, with those of tensors; blocks in it."""
        if self._native is not None:
            return self._native(), 0
        numbers = self._mallinfo()
        tensors = flambeau._C.memory_stats("cpu")["allocated_bytes"]
        return numbers.uordblks + numbers.hblkhd + tensors, sys.getallocatedblocks()


@cache
def memory() -> Memory:
    """That of this process and its children."""
    return Memory()


# One program -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Attempt:
    """What became of a program."""

    judgement: Judgement | None = None
    worked: bool = False  # the call returned
    digest: int = 0  # of its results and their gradients


class Runner:
    """Runs programs in this process."""

    def __init__(self, channel: Channel, memory: Memory, growth: bool = True) -> None:
        self._channel = channel
        self._memory = memory
        self._growth = growth
        self._checked: dict[str, int] = {}

    def run(self, number: int, program: Program) -> Judgement | None:
        """All that is wrong with a program that does not end the process: the worst of it."""
        self._channel.write(number, program.statements)
        before = self._memory.used()
        attempt = self._attempt(number, program)
        if attempt.worked:
            self._channel.worked += 1
        found = attempt.judgement
        if found is None and self._memory.fill is not None and attempt.worked:
            found = self._filled(number, program, attempt)
        if found is None and self._growth:
            found = self._grown(number, program, before)
        _reset()
        return found

    def _attempt(self, number: int, program: Program) -> Attempt:
        _reset()
        names: dict[str, Any] = dict(_PRELUDE)
        result = Attempt()
        for index, statement in enumerate(program.statements):
            try:
                exec(_compiled(statement), names)
            except BaseException as error:
                # Of a program of steps, any may fail; of a call, the preparation must not.
                is_call = index == len(program.statements) - 1
                strict = is_call and bool(program.words)
                found = judge(error, program.words, strict) if _is_ours(statement) else None
                if found and found.kind == "internal words" and "_internal" in program.name:
                    found = None
                result.judgement = result.judgement or found
                error.__traceback__ = None
                if not program.goes_on:
                    return result
        result.worked = True
        if program.leaves:
            self._differentiate(number, program, names, result)
        if self._memory.fill is not None:
            kept = {name: names.get(name) for name in ("r", "g", "h", "z")}
            result.digest = digest(kept)
        return result

    def _differentiate(
        self, number: int, program: Program, names: dict[str, Any], result: Attempt
    ) -> None:
        """Gradients of the results, and gradients of these."""
        leaves = [name for name in program.leaves if _wants_gradient(names.get(name))]
        outputs = _outputs("r", names.get("r"))
        done = list(program.statements)
        for target, create in (("g", True), ("h", False)):
            if not leaves or not outputs:
                return
            ones = [f"flambeau.ones_like({o})" for o in outputs]
            further = "create_graph=True, " if create else ""
            done.append(
                f"{target} = flambeau.autograd.grad([{', '.join(outputs)}], [{', '.join(leaves)}], "
                f"[{', '.join(ones)}], {further}allow_unused=True)"
            )
            self._channel.write(number, done)
            try:
                exec(_compiled(done[-1]), names)
            except BaseException as error:
                error.__traceback__ = None
                found = judge(error, (), strict=False)
                message = str(error)
                if found is None and not _is_plain_refusal(message):
                    from fuzz_judge import pattern

                    found = Judgement("backward", f"{target}: {pattern(message)}")
                result.judgement = result.judgement or found
                return
            outputs = _outputs(target, names[target])

    def _filled(self, number: int, program: Program, first: Attempt) -> Judgement | None:
        """Whether a result depends on what new memory holds."""
        if not program.repeatable:
            return None
        fill = self._memory.fill
        old = fill.value
        fill.value = 0x40
        try:
            second = self._attempt(number, program)
        finally:
            fill.value = old
        if second.worked and second.digest != first.digest:
            return Judgement("unwritten memory", "results differ with what new memory holds")
        return None

    def _grown(self, number: int, program: Program, before: tuple[int, int]) -> Judgement | None:
        """Whether each repetition leaves memory behind."""
        after = self._memory.used()
        if after[0] - before[0] < 64 and after[1] - before[1] < 2:
            return None
        if self._checked.get(program.name, 0) >= 3:
            return None
        gc.collect()
        after = self._memory.used()
        if after[0] - before[0] < 64 and after[1] - before[1] < 2:
            return None
        self._checked[program.name] = self._checked.get(program.name, 0) + 1
        self._repeat(number, program, 16)
        # What caches keep, they keep once: a first look is short, others come after many calls.
        # Programs that take long make few.
        for warm, counted in ((0, 48), (500, 200), (0, 200), (500, 200), (0, 200)):
            self._repeat(number, program, warm)
            _collect()
            before = self._memory.used()
            done = self._repeat(number, program, counted)
            _collect()
            after = self._memory.used()
            size, blocks = ((b - a) / max(done, 1) for a, b in zip(before, after, strict=True))
            if size < GROWTH and blocks < 0.9:
                return None
        return Judgement("growth", f"{size:.0f} bytes and {blocks:.1f} blocks a call")

    def _repeat(self, number: int, program: Program, times: int) -> int:
        """Runs it so often, or for some seconds; how often it ran."""
        self._channel.write(number, program.statements)
        until = time.monotonic() + HANG / 5
        for done in range(times):
            self._attempt(number, program)
            if time.monotonic() > until:
                return done + 1
        return times


def _collect() -> None:
    """Twice: what goes at the end of a collection lies in free lists that the next one empties."""
    gc.collect()
    gc.collect()


def _is_ours(statement: str) -> bool:
    """Not something that is done to an export alone."""
    return not re.match(r"(n\d+ = )?(np\.|n\d+\b|del |bytes\(|next\()", statement)


def _is_plain_refusal(message: str) -> bool:
    """Gradients that cannot be, said so."""
    words = ("not implemented", "no derivative", "differentiable", "modified", "does not require",
             "meta", "in-place", "cannot allocate", "not have been used", "version")  # fmt: skip
    return any(word in message for word in words)


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, flambeau.Tensor) and value.requires_grad


def _outputs(name: str, value: Any, depth: int = 0) -> list[str]:
    """The expressions of the tensors in a value that gradients can start from."""
    if isinstance(value, tuple | list) and depth < _DEEPEST:
        inner = ((f"{name}[{i}]", v) for i, v in enumerate(value[:8]))
        return [text for part, v in inner for text in _outputs(part, v, depth + 1)]
    if not isinstance(value, flambeau.Tensor) or is_lazy(value):
        return []
    if value.requires_grad and value.numel() < 1 << 24:
        return [name]
    return []


def digest(value: Any, depth: int = 0) -> int:
    """A number that stands for the elements of tensors."""
    if isinstance(value, dict | tuple | list) and depth < _DEEPEST:
        inner = list(value.values()) if isinstance(value, dict) else value[:50]
        return zlib.crc32(repr([digest(v, depth + 1) for v in inner]).encode())
    if isinstance(value, flambeau.Tensor) and not is_lazy(value):
        tensor = value.detach()
        if tensor.layout is not flambeau.strided:
            tensor = tensor._values()
        if tensor.device.type != "cpu" or not 0 < tensor.numel() <= 1 << 20:
            return 0
        if tensor.dtype is flambeau.bfloat16:
            tensor = tensor.to(flambeau.float32)
        return zlib.crc32(np.ascontiguousarray(tensor.numpy()).tobytes())
    return 0


def _compiled(statement: str) -> Any:
    return compile(statement, "<fuzz>", "exec", dont_inherit=True)


def _reset() -> None:
    """What a call may have changed for the whole process."""
    flambeau.manual_seed(0)
    flambeau.set_grad_enabled(True)
    flambeau.set_default_dtype(flambeau.float32)
    flambeau.set_printoptions(profile="default")
    flambeau.set_autocast_enabled("cpu", False)


# A batch -----------------------------------------------------------------------------------------


def run_batch(
    channel: Channel,
    write: Callable[[Finding], None],
    programs: Iterable[tuple[int, Program]],
    growth: bool,
) -> None:
    """Runs programs one after another; findings are written as they are found."""
    runner = Runner(channel, memory(), growth)
    gc.freeze()
    for number, program in programs:
        found = runner.run(number, program)
        if found is not None:
            _, _, statements, _ = channel.read()
            write(Finding(found.kind, found.detail, program.name, number, tuple(statements)))
    channel.write(-1, ())
