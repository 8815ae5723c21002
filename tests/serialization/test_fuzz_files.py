"""200 damaged and forged files of every format break nothing."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import fuzz_files
import pytest
from file_pickles import pickled
from fuzz_files import FORMATS, Damaged, damaged, fuzz, good
from fuzz_supervisor import Task, run_one

import flambeau


@pytest.mark.parametrize("form", FORMATS)
def test_files_break_nothing(form: str) -> None:
    tally = fuzz(seed=1, form=form, count=200, jobs=2)
    assert tally.calls == 200
    assert [(found.kind, found.detail, found.number) for found in tally.findings] == []


@pytest.mark.parametrize("form", FORMATS)
def test_good_files_are_read_and_changed_ones_are_changed(form: str) -> None:
    for data in good(form):
        flambeau.load(io.BytesIO(data))
    changed = [damaged(1, form, number) for number in range(50)]
    assert changed == [damaged(1, form, number) for number in range(50)]
    assert sum(each.data != each.original for each in changed) > 35
    assert len({each.data for each in changed}) > 45


MISTAKES = {
    "execution": "open('/dev/null').close()",
    "exception": "raise KeyError('x')",
    "message": "raise RuntimeError('x')",
    "wrong data": "return [1]",
    "changed library": "flambeau.nn.Linear.new = 1",
    "signal": "import signal; os.kill(os.getpid(), signal.SIGSEGV)",
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a `load` that makes one."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("x/data.pkl", pickled([2]))
    data = content.getvalue()
    right = flambeau.load
    names = {"right": right, "bad": data + b" ", "flambeau": flambeau, "os": os}
    program = "def load(file):\n    if file.getvalue() != bad:\n        return right(file)\n"
    program += f"    {MISTAKES[kind]}\n    return [2]\n"
    exec(program, names)
    monkeypatch.setattr(flambeau, "load", names["load"])
    file = Damaged("zip 0", data + b" ", data, True)
    found = run_one(Task(lambda number: file, fuzz_files.load_all), 0)
    assert [finding.kind for finding in found] == [kind]
    assert Path(fuzz_files.__file__).exists()
