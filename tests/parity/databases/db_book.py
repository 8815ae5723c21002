"""Judging one case after another: both libraries run it, and what differs is written down."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any
from unittest import mock

import torch
from db_carry import Unportable
from db_compare import Difference, copied, difference
from db_public import NoSuch
from db_tally import Failure, Part, Unit, symptom
from fuzz_worker import Channel, Finding
from parity_wanted import Wanted

import flambeau

Compare = Callable[[Any, Any, bool], "Difference | None"]
Run = Callable[[], Any]
_AGAIN = 12  # seeds that are tried before a result counts as one that is not random
_STEADY = 5
_LINE = 300


def plain(theirs: Any, mine: Any, form: bool) -> Difference | None:
    """The comparison of forward results."""
    return difference(theirs, mine, form=form)


class Book:
    """The cases of one unit."""

    def __init__(
        self,
        unit: Unit,
        number: int,
        channel: Channel,
        write: Callable[[Finding], None],
        wanted: Wanted,
    ) -> None:
        self.unit = unit
        self.form = False  # the entry's results are not to be compared by value
        self._number = number
        self._current = ""
        self._told = ["", ""]
        self._steady = 0
        self._channel = channel
        self._write = write
        self._wanted = wanted
        self._parts: dict[str, Part] = {}
        self._seen: dict[tuple[str, str], Failure] = {}

    def judge(
        self,
        category: str,
        call: str,
        theirs: Run,
        mine: Run,
        *,
        strict: bool = False,
        compare: Compare = plain,
    ) -> bool:
        """Runs a case; whether the results agree. `strict`: where PyTorch raises, so must
        Flambeau; else such a case is skipped.
        """
        self._begin(category, call)
        expected, error = attempt(theirs)
        try:
            got, own = attempt(mine)
        except (NoSuch, Unportable) as lacking:
            self.lacks(category, lacking)
            return False
        self._channel.worked += 1
        if error is not None:
            return self._judge_error(category, call, error, own if strict else error)
        if own is not None:
            name = _missed(own)
            if _is_internal(own):
                self.count(category, "skipped")
            elif name:
                self.lacks(category, NoSuch(name))
            else:
                self.fail(category, call, Difference(f"raises {said(own)}", "a result", said(own)))
            return False
        found = compare(expected, got, self.form)
        if found is not None and not self.form and self._is_random(theirs, expected):
            found = compare(expected, got, True)
        if found is None:
            self.count(category, "pass")
        else:
            self.fail(category, call, found)
        return found is None

    def _judge_error(
        self, category: str, call: str, error: Exception, own: Exception | None
    ) -> bool:
        if own is error:
            self.count(category, "skipped")
            return True
        if own is None:
            words = f"accepts what raises {said(error)}"
            self.fail(category, call, Difference(words, said(error), "a result"))
            return False
        if _missed(own):
            self.lacks(category, NoSuch(_missed(own)))
            return False
        self.count(category, "pass")
        return True

    def must_raise(self, category: str, call: str, theirs: Run, mine: Run) -> None:
        """Both raise; under `CATEGORY types`, the same type of exception."""
        self._begin(category, call)
        _, error = attempt(theirs)
        if error is None:
            return self.count(category, "skipped")
        try:
            _, own = attempt(mine)
        except (NoSuch, Unportable) as lacking:
            return self.lacks(category, lacking)
        if own is not None and _missed(own):
            return self.lacks(category, NoSuch(_missed(own)))
        if not self._judge_error(category, call, error, own) or own is None:
            return None
        if same_type(own, error):
            return self.count(f"{category} types", "pass")
        words = f"raises {type(own).__name__} for {type(error).__name__}"
        return self.fail(f"{category} types", call, Difference(words, said(error), said(own)))

    def _is_random(self, theirs: Run, first: Any) -> bool:
        """Whether PyTorch's own result is another one with another seed, or other memory. Where it
        was not for some cases, it is not asked again.
        """
        if self._steady >= _STEADY:
            return False
        kept = copied(first)  # the next run may write to the same tensor
        for seed in range(1, 1 + _AGAIN):
            self._channel.write(self._number, self._told)  # each run may take its time
            with other_chance(seed):
                again, error = attempt(theirs)
            if error is None and difference(kept, again) is not None:
                return True
        self._steady += 1
        return False

    def _begin(self, category: str, call: str) -> None:
        """What may end the process is told before; what is done is safe then."""
        if category != self._current:
            self.flush()
            self._current = category
        self._told = [category, call]
        self._channel.write(self._number, self._told)

    # Counting ------------------------------------------------------------------------------------

    def _part(self, category: str) -> Part:
        unit = self.unit
        part = Part(unit.database, unit.name, category, unit.dtype)
        return self._parts.setdefault(category, part)

    def count(self, category: str, outcome: str) -> None:
        """One case more."""
        counts = self._part(category).counts
        counts[outcome] = counts.get(outcome, 0) + 1

    def lacks(self, category: str, error: Exception) -> None:
        """A case that Flambeau has no names for, or nobody but PyTorch can run."""
        if isinstance(error, Unportable):
            self.count(category, "skipped")
            return
        part = self._part(category)
        rule = self._wanted.explaining(self.unit.name, category, str(error), "")
        if rule is not None:
            self.count(category, "wanted")
            part.wanted[rule.reason] = part.wanted.get(rule.reason, 0) + 1
            return
        self.count(category, "missing")
        name = str(error)
        part.missing[name] = part.missing.get(name, 0) + 1

    def fail(self, category: str, call: str, found: Difference) -> None:
        """One more difference, unless it is a wanted one."""
        part = self._part(category)
        detail = f"{found.symptom}: {found.expected}: {found.got}"
        rule = self._wanted.explaining(self.unit.name, category, detail, call)
        if rule is not None:
            self.count(category, "wanted")
            part.wanted[rule.reason] = part.wanted.get(rule.reason, 0) + 1
            return
        self.count(category, "fail")
        key = category, symptom(found.symptom, self.unit.name)
        call = f"{self.unit.dtype} {call}"[:_LINE].strip()
        seen = self._seen.get(key)
        if seen is None:
            seen = Failure(found.symptom, call, found.expected, found.got, 0)
            self._seen[key] = seen
            part.failures.append(seen)
        elif len(call) < len(seen.call):
            seen.call, seen.expected, seen.got = call, found.expected, found.got
        seen.count += 1

    def flush(self) -> None:
        """Hands over what was counted so far."""
        for part in self._parts.values():
            finding = json.dumps(asdict(part))
            self._write(Finding("part", finding, self.unit.name, self._number, ()))
        self._parts.clear()
        self._seen.clear()


# One library -------------------------------------------------------------------------------------


def attempt(run: Run) -> tuple[Any, Exception | None]:
    """A result or an exception.

    Raises:
        NoSuch, Unportable: as they come; they are no answers.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(), None
        except (NoSuch, Unportable):
            raise
        except Exception as error:
            return None, error


@contextmanager
def other_chance(seed: int) -> Iterator[None]:
    """Other random numbers, also where the code asks for certain ones; full fresh memory."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with mock.patch.object(torch, "manual_seed", return_value=None):
            yield
    finally:
        torch.use_deterministic_algorithms(False)


def said(error: BaseException) -> str:
    """Type and first line."""
    lines = str(error).strip().split("\n")
    return f"{type(error).__name__}: {lines[0][:200]}"


def _missed(error: BaseException) -> str:
    """The public name that an AttributeError is about; empty: it is about something else."""
    if not isinstance(error, AttributeError):
        return ""
    found = re.search(r"'([\w.]+)' (?:object )?has no attribute '(\w+)'", str(error))
    if not found or not ("Tensor" in found[1] or found[1].startswith("flambeau")):
        return ""
    owner = "Tensor" if "Tensor" in found[1] else found[1].partition(".")[2]
    return f"no {owner}.{found[2]}".replace("no .", "no ")


def _is_internal(error: BaseException) -> bool:
    """Whether PyTorch's test code asked for an operator by its internal name."""
    return isinstance(error, AttributeError) and "ops.aten: there is no operator" in str(error)


def same_type(own: BaseException, error: BaseException) -> bool:
    """Whether who catches the one also catches the other."""
    return isinstance(own, type(error)) or type(own).__name__ == type(error).__name__


def reset() -> None:
    """What a case may have changed for the whole process."""
    for library in (torch, flambeau):
        library.manual_seed(0)
        library.set_grad_enabled(True)
        library.set_default_dtype(library.float32)
