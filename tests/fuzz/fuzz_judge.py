"""What an exception says about the library: nothing, or a finding."""

from __future__ import annotations

import pickle
import re
from collections.abc import Collection
from dataclasses import dataclass

# What calls may raise. RecursionError is a RuntimeError too: of a depth that nobody has limited.
DOCUMENTED = (
    RuntimeError, ValueError, TypeError, IndexError, OverflowError, AttributeError, BufferError,
    MemoryError,
)  # fmt: skip
# By severity; `nameless` and `backward` are listed apart, and fail nothing.
KINDS = (
    "signal", "sanitizer", "assertion", "exit", "unwritten memory", "hang", "growth", "SystemError",
    "InternalError", "exception", "empty message", "internal words", "nameless", "backward",
)  # fmt: skip
ADVICE = ("nameless", "backward")

# Words of the implementation, which are no explanation.
_INTERNAL = re.compile(
    r"_internal\.|std::|vector::|basic_string|bad_alloc|bad_optional|bad_cast|_M_\w+"
    r"|max_size\(\)|generated\.|\bcore/\w+\.h"
)
# Exceptions of objects that were passed, not of the library.
_FOREIGN = (
    ZeroDivisionError, UnicodeEncodeError, UnicodeDecodeError, StopIteration, KeyError, NameError,
    pickle.UnpicklingError, EOFError, SyntaxError,
)  # fmt: skip
# Python's own words for a call that reaches no operator.
_PYTHON = re.compile(
    r"unsupported operand|bad operand|object is not (callable|subscriptable|iterable|reversible)"
    r"|has no attribute|not supported between|required for|must be|object cannot be|descriptor '"
    r"|expected \d+ arguments?, got|expected at (least|most) \d+ argument|takes \w+ (arg|key|pos)"
    r"|missing \d+ required|unexpected keyword"
)


@dataclass(frozen=True, slots=True)
class Judgement:
    kind: str
    detail: str


def judge(error: BaseException, words: Collection[str], strict: bool) -> Judgement | None:
    """None for a documented exception with a message. `strict`: it is about the operator of these
    names, and should give one of them.
    """
    name = type(error).__name__
    try:
        message = str(error)
    except Exception as broken:
        return Judgement("exception", f"{name}, whose message raises {type(broken).__name__}")
    if isinstance(error, SystemError):
        return Judgement("SystemError", pattern(message))
    if name == "InternalError":
        return Judgement("InternalError", pattern(message))
    if isinstance(error, MemoryError) and not message.strip():
        return Judgement("empty message", "MemoryError")
    if not _is_foreign(error):
        if not isinstance(error, DOCUMENTED) or isinstance(error, RecursionError):
            return Judgement("exception", f"{name}: {pattern(message)}")
        if not message.strip():
            return Judgement("empty message", name)
        if strict and _INTERNAL.search(message):
            return Judgement("internal words", pattern(message))
        if strict and words and not _names(message, words):
            return Judgement("nameless", f"{name}: {pattern(message)}")
    return None


def _is_foreign(error: BaseException) -> bool:
    """Raised by Python code that a call was given."""
    return isinstance(error, _FOREIGN)


def _names(message: str, words: Collection[str]) -> bool:
    if _PYTHON.search(message):
        return True
    return any(re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", message)
               for word in words)  # fmt: skip


def pattern(message: str) -> str:
    """The message without the numbers and texts that vary."""
    text = re.sub(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?", "N", message)
    text = re.sub(r"'[^']*'", "'...'", text)
    text = re.sub(r"\[(N(, )?)*\]", "[...]", text)
    return text[:160]


# What a process says when it dies -----------------------------------------------------------------

_ADDRESS = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)")
_UNDEFINED = re.compile(r"(\S+?(?: \(\w+\))?):(\d+):\d+: runtime error: (.*)")
_ASSERTION = re.compile(r"(\S+?):(\d+):.*[Aa]ssertion (?:failed: (.*)|'(.*)' failed)")
_FRAME = re.compile(
    r"#\d+ 0x[0-9a-f]+ in .+? (?:\S*/)?((?:native|generated|declarations)/\S+(?: \(\w+\))?):(\d+)"
)
_LAST = re.compile(r"malloc|free\(\)|corrupted|terminate|what\(\)|Fatal|smashing|the worker itself")
_HELPERS = (
    "/assert.h", "/shape.h", "/small_vector.h", "/exact_blocks.h", "/error.h", "/tensor.h",
    "/blocks.h", "/gil.h", "/errors.h",
)  # fmt: skip


def judge_death(status: str, said: str) -> Judgement:
    """A process that ended with `status` and wrote `said`."""
    place = _place(said)
    if match := _UNDEFINED.search(said):
        # What a declaration says stands in a file of its own, with a space in its name.
        file = re.sub(r"^.*/(?=native/|generated/)", "", match[1])
        return Judgement("sanitizer", f"{pattern(match[3])} at {file}:{match[2]}")
    if match := _ASSERTION.search(said):
        return Judgement("assertion", f"{match[3] or match[4]} at {place or match[1]}")
    if match := _ADDRESS.search(said):
        kind = match[1]
        if kind in ("SEGV", "ABRT", "BUS", "FPE", "ILL"):
            return Judgement("signal", f"{kind} at {place}")
        return Judgement("sanitizer", f"{kind} at {place}")
    if "terminate called" in said:
        return Judgement("signal", f"{status}: " + " ".join(said.split("\n")[:2])[:160])
    return Judgement("signal" if status.startswith("SIG") else "exit", f"{status} {_last(said)}")


def _place(said: str) -> str:
    """The first frame of the library's own."""
    frames = _FRAME.findall(said)
    chosen = [f for f in frames if not f[0].endswith(_HELPERS)] or frames
    return ":".join(chosen[0]) if chosen else ""


def _last(said: str) -> str:
    lines = [line for line in said.splitlines() if _LAST.search(line)]
    return lines[-1][:120] if lines else ""
