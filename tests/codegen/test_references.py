"""References that are Python functions: found by their family, called in a limited process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.formula.sandbox import FailedError
from flambeau.codegen.read.loader import declaration_files, load
from flambeau.codegen.references import process
from flambeau.codegen.references.files import reference_functions
from flambeau.codegen.text.folders import default_folder, yaml_files
from flambeau.codegen.text.source import Diagnostic, Diagnostics

ENTRY = """
- op: "tripled(Tensor self) -> Tensor result"
  kind: pointwise
  dtypes: {self: float}
  expr: "3 * self"
  derivative: none
  summary: "Three times the elements."
  reference: "tripled(self)"
  samples: layouts(randn)
"""
HEAD = "import numpy as np\n\n"
SOUND = HEAD + "def tripled(x):\n    return _times(x, 3)\n\ndef _times(x, n):\n    return n * x\n"


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    process.PROCESS.end()


def written(folder: Path, text: str) -> Path:
    """A file of declarations with the entry, and references with the text."""
    (folder / "references").mkdir(exist_ok=True)
    (folder / "references" / "curves.py").write_text(text, encoding="utf-8")
    file = folder / "curves.yaml"
    file.write_text(ENTRY, encoding="utf-8")
    return file


def checked(file: Path) -> list[Diagnostic]:
    """What is found in the file, beside the library's tables."""
    tables = [default_folder() / f"{name}.yaml" for name in ("dtypes", "backends", "common")]
    diagnostics = Diagnostics()
    loaded = load([*tables, file], diagnostics)
    return [*diagnostics, *run_checks(Context.of(loaded))]


def test_a_function_is_compared_with(tmp_path: Path) -> None:
    assert checked(written(tmp_path, SOUND)) == []
    wrong = checked(written(tmp_path, SOUND.replace("(x, 3)", "(x, 3.5)")))
    assert any("where the reference gives" in d.message for d in wrong)


def test_files_import_each_other(tmp_path: Path) -> None:
    file = written(tmp_path, "from .shared import times\n\ndef tripled(x):\n    return times(x)\n")
    (tmp_path / "references" / "shared.py").write_text("def times(x):\n    return 3 * x\n")
    assert checked(file) == []


def test_an_exception_is_told_with_its_place(tmp_path: Path) -> None:
    text = SOUND.replace("return n * x", "return n * x @ np.zeros((7, 7))")
    found, *_ = checked(written(tmp_path, text))
    assert "the reference cannot be evaluated: ValueError: matmul" in found.message
    (note,) = found.notes
    assert (note.span.file, note.span.line) == (str(tmp_path / "references" / "curves.py"), 7)
    assert "    return n * x @ np.zeros((7, 7))" in found.render()


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("def tripled(x:\n    return 3 * x\n", "does not parse: '(' was never closed", 1),
        ("import os\n\ndef tripled(x):\n    return 3 * x\n", "import what computes, not 'os'", 1),
        ("\nfrom subprocess import run\n", "import what computes, not 'subprocess'", 2),
    ],
)
def test_mistakes_that_are_seen_without_calling(
    text: str, message: str, line: int, tmp_path: Path
) -> None:
    found = [d for d in checked(written(tmp_path, text)) if message in d.message]
    assert [d.span.line for d in found] == [line]


def call(tmp_path: Path, body: str) -> object:
    """What a function with the body gives."""
    file = written(tmp_path, f"{HEAD}def tripled(x):\n    {body}\n")
    return reference_functions(str(file))["tripled"](np.ones(3))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("while True: pass", "takes longer than 0.5 s"),
        ("raise SystemExit(3)", "ended its process (exit status 3)"),
        ("return np.lib.stride_tricks.as_strided(x, (2**40,)).sum()", "(SIGSEGV)"),
        ("return np.zeros(2 ** 40)", "MemoryError"),
        ("open('written', 'w').write('x' * 9999)", "Error"),
        ("return print", "a reference gives arrays and numbers, no builtins.print"),
        ("return lambda: 0", "Error"),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_call_that_does_not_return(
    body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error, and the next call is answered."""
    monkeypatch.setattr(process, "SECONDS", 0.5 if "while" in body else 10.0)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FailedError) as raised:
        call(tmp_path, body)
    assert message in str(raised.value)
    written_file = tmp_path / "written"
    assert not written_file.exists() or written_file.stat().st_size == 0
    monkeypatch.setattr(process, "SECONDS", 10.0)
    time.sleep(0.01)  # another time of change
    assert np.array_equal(call(tmp_path, "return 3 * x"), np.full(3, 3.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    ["2.5", "(1, [True, None], 'text')", "2j", "np.float32(1)", "x > 0", "[x, x.astype(int)]"],
)
def test_values_come_back(value: str, tmp_path: Path) -> None:
    found = call(tmp_path, f"return {value}")
    x = np.ones(3)
    assert repr(found) == repr(eval(value, {"np": np, "x": x}))


def test_the_library_uses_what_it_has() -> None:
    """Every function is called by an entry of its family, or by another function."""
    texts = {p.stem: p.read_text(encoding="utf-8") for p in yaml_files(default_folder())}
    sources = "\n".join(p.read_text(encoding="utf-8") for p in default_folder().rglob("*.py"))
    for file in declaration_files(default_folder()):
        for name in reference_functions(str(file)):
            calls = texts[file.stem].count(f"{name}(") + sources.count(f"{name}(") - 1
            assert calls > 0, f"{file.stem}: {name} is never called"


def test_every_file_belongs_to_a_family() -> None:
    """In the room of the family."""
    files = list(default_folder().rglob("*.py"))
    assert files
    for file in files:
        assert file.parent.name == "references"
        assert (file.parents[1] / f"{file.stem}.yaml").is_file()
