"""The command line of the generator: help, exit codes, colour; `check` and `emit`."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import SAMPLE, sample_folder, small_library

from flambeau.codegen.tools.cli import COMMANDS, main
from flambeau.codegen.tools.terminal import Style, wants_colour
from flambeau.codegen.write.files import STATE

ESCAPE = "\x1b["


@pytest.fixture
def declarations(tmp_path: Path) -> Path:
    return sample_folder(tmp_path)


def check(folder: Path, *options: str) -> int:
    return main(["check", "--structure", "--declarations", str(folder), *options])


def process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flambeau.codegen", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


# Every command ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [c.NAME for c in COMMANDS])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"], program="flambeau ops")
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: flambeau ops {command} ")
    described = next(c.__doc__ for c in COMMANDS if command == c.NAME)
    assert described is not None and described.splitlines()[0] in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["chekc"], "invalid choice"),
        (["show"], "OP"),
        (["new", "x"], "--kind"),
        (["coverage", "--json", "--gaps"], "not allowed with"),
    ],
)
def test_wrong_usage_exits_with_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "silk"], "show: error: there is no operator 'silk': did you mean 'silu'?"),
        (["try", "silu", "x=1"], "try: error: silu(Tensor self) has no argument 'x'"),
        (["check", "--declarations", "/nowhere"], "check: error: there is no folder /nowhere"),
        (["emit", "/nowhere/x", "--declarations", "/nowhere"], "emit: error: there is no folder"),
        (["diff", "--generated", "/nowhere"], "there is no generated folder /nowhere: build first"),
    ],
)
def test_what_cannot_be_done_exits_with_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err and not printed.out


def test_broken_declarations_exit_with_one(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands that need sound declarations say what is wrong with them."""
    sample = declarations / "sample.yaml"
    sample.write_text(SAMPLE.replace("kind: view", "kind: veiw", 1), encoding="utf-8")
    for command in (["show", "silu"], ["coverage"], ["emit", str(declarations / "out")]):
        assert main([*command, "--declarations", str(declarations)]) == 1
        assert "veiw" in capsys.readouterr().out
    assert not (declarations / "out").exists()


def test_a_reader_that_stops_early_is_no_error() -> None:
    """`... | head -n 1`"""
    command = f"{sys.executable} -m flambeau.codegen coverage --json | head -n 1"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert found.stdout == "{\n" and found.stderr == ""


def test_emitting_needs_no_numpy(tmp_path: Path) -> None:
    """A wheel is built in an environment without it."""
    small = ("--declarations", small_library(tmp_path / "declarations"))
    without = "import sys; sys.modules['numpy'] = None; "
    run = "from flambeau.codegen.tools.cli import main; sys.exit(main(sys.argv[1:]))"
    found = subprocess.run(
        [sys.executable, "-c", without + run, "emit", tmp_path / "generated", *small],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


# Colour -------------------------------------------------------------------------------------------


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """What a command prints when its output is a terminal."""
    master, terminal = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    with subprocess.Popen(
        [sys.executable, "-m", "flambeau.codegen", *map(str, arguments)],
        stdout=terminal,
        env={**clean, "TERM": "xterm", **environment},
    ):
        os.close(terminal)
        parts = []
        while part := _read(master):
            parts.append(part)
    os.close(master)
    return b"".join(parts).decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_colour_on_a_terminal_only(declarations: Path) -> None:
    sample = declarations / "sample.yaml"
    sample.write_text(SAMPLE.replace("kind: view", "kind: veiw", 1), encoding="utf-8")
    command = ("check", "--structure", "--declarations", declarations)
    coloured = on_a_terminal(*command)
    assert f"{ESCAPE}1;31m error:" in coloured and f"{ESCAPE}32m" in coloured
    assert ESCAPE not in on_a_terminal(*command, NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(*command, TERM="dumb")
    piped = process(*command).stdout
    assert "error:" in piped and ESCAPE not in piped


def test_colour_leaves_the_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only escape sequences are added, to diagnostics and diffs of any content."""

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal())  # type: ignore[arg-type]
    style = Style(Terminal())  # type: ignore[arg-type]
    rendered = "a b.yaml:3:4: error: it is: bad\n  x: {y}\n     ^~~\n  hint: did you mean 'z'?"
    coloured = style.diagnostic(rendered)
    assert coloured != rendered and _plain(coloured) == rendered
    assert all(_plain(style.difference(line)) == line for line in ("+a", "-b", "@@ 1 @@", " c", ""))


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# check --------------------------------------------------------------------------------------------


def test_kernels_are_asked_for_where_there_are_sources(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package has no folder of kernels; a tree has one, and it must hold them."""
    assert check(declarations) == 0
    native = declarations.parent / "native"
    native.mkdir()
    assert check(declarations) == 1
    assert "cpu/indexing/nonzero.cpp does not exist" in capsys.readouterr().out
    assert check(declarations, "--no-kernels") == 0


def test_a_named_folder_of_kernels_is_used(declarations: Path) -> None:
    assert check(declarations, "--native", str(declarations.parent / "elsewhere")) == 1


def test_check_as_json(declarations: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What an editor reads: the same mistakes, with where each begins and ends."""
    assert check(declarations, "--json") == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"] == []
    sample = declarations / "sample.yaml"
    text = SAMPLE.replace("kind: view", "kind: veiw", 1)
    sample.write_text(text, encoding="utf-8")
    assert check(declarations, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["formulas_evaluated"]
    (mistake,) = [d for d in found["diagnostics"] if "veiw" in d["message"]]
    assert Path(mistake["file"]) == sample
    line = text.splitlines()[mistake["line"] - 1]
    assert line[mistake["column"] - 1 : mistake["end_column"] - 1] == "veiw"
    assert mistake["severity"] == "error" and "'view'" in mistake["hint"]


def test_check_of_a_file_reports_on_it_alone(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = declarations.parent / "other.yaml"
    other.write_text('- op: "two(Tensor self) -> Tensor result"\n', encoding="utf-8")
    sample = declarations / "sample.yaml"
    sample.write_text(SAMPLE.replace("kind: view", "kind: veiw", 1), encoding="utf-8")
    assert check(declarations, str(other)) == 1
    printed = capsys.readouterr().out
    assert "other.yaml" in printed and "veiw" not in printed


@pytest.mark.parametrize("name", ["early", "late"])
def test_check_of_a_file_finds_clashes_with_others(
    name: str, declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever of the two is read first, and so is the other's predecessor."""
    entry = SAMPLE[SAMPLE.index('- op: "') :].split("\n\n")[0]
    other = declarations / f"{'a' if name == 'early' else 'z'}_{name}.yaml"
    other.write_text(entry + "\n", encoding="utf-8")
    assert check(declarations, str(other)) == 1
    printed = capsys.readouterr().out
    assert printed.count("is declared already") == 1 and other.name in printed


def test_check_of_a_file_knows_the_others(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its formulas may call operators of other files, which are not counted."""
    other = declarations.parent / "other.yaml"
    other.write_text(
        '- op: "twice(Tensor self) -> Tensor result"\n'
        "  kind: composite\n"
        '  body: "silu(silu(self))"\n'
        '  summary: Twice.\n  example: ">>> 1\\n1"\n'
        "  samples: [rand(3)]\n",
        encoding="utf-8",
    )
    assert check(declarations, str(other)) == 0, capsys.readouterr().out
    assert "1 operators checked" in capsys.readouterr().out
    text = other.read_text(encoding="utf-8").replace("silu", "nowhere")
    other.write_text(text, encoding="utf-8")
    assert check(declarations, str(other)) == 1
    assert "nowhere" in capsys.readouterr().out


# emit ---------------------------------------------------------------------------------------------


def test_emit_says_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(small_library(tmp_path / "declarations"))
    for expected in ("files changed", ": 0 files changed"):
        assert main(["emit", str(tmp_path / "generated"), "--declarations", folder]) == 0
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize("changed", ["declaration", "output", "removed", "interrupted"])
def test_emit_does_nothing_only_where_nothing_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: str
) -> None:
    folder, generated = small_library(tmp_path / "declarations"), tmp_path / "generated"

    def emit() -> str:
        assert main(["emit", str(generated), "--declarations", str(folder)]) == 0
        return capsys.readouterr().out

    emit()
    assert emit().startswith("emitted before")
    output = generated / "dtypes.h"
    written = output.read_bytes()
    if changed == "declaration":
        with (folder / "common.yaml").open("a", encoding="utf-8") as file:
            file.write("# more\n")
    elif changed == "output":
        output.write_bytes(written + b"// mine\n")
    elif changed == "removed":
        output.unlink()
    else:
        (generated / STATE).unlink()
    assert "operators emitted" in emit()
    assert output.read_bytes() == written
    assert emit().startswith("emitted before")


def test_emit_refuses_a_folder_with_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They would be lost, or lie among the generated ones."""
    generated = tmp_path / "generated"
    small = ["--declarations", str(small_library(tmp_path / "declarations"))]
    assert main(["emit", str(generated), *small]) == 0
    (generated / "ops" / "notes.txt").write_text("mine", encoding="utf-8")
    (generated / "empty").mkdir()
    before = {p: p.read_bytes() for p in generated.rglob("*") if p.is_file()}
    assert main(["emit", str(generated), *small]) == 2
    message = f"{generated} holds files that were not generated (ops/notes.txt)"
    assert message in capsys.readouterr().err
    assert {p: p.read_bytes() for p in generated.rglob("*") if p.is_file()} == before
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".profile").touch()
    assert main(["emit", str(tmp_path / "home"), *small]) == 2
    assert [p.name for p in (tmp_path / "home").iterdir()] == [".profile"]


@pytest.mark.parametrize("command", [["emit"], ["schema"], ["coverage", "--html"]])
def test_what_cannot_be_written_exits_with_two(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below a file there is no folder."""
    (tmp_path / "file").touch()
    target = tmp_path / "file" / "below"
    assert main([*command, str(target)]) == 2
    printed = capsys.readouterr().err
    assert "error: " in printed and str(tmp_path / "file") in printed


def test_a_name_of_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The entry that is checked is shown, the library's beside it, whichever file is read first."""
    text = '- op: "relu(Tensor self) -> Tensor result"\n  kind: pointwise\n  expr: "self * 2"\n'
    for name in ("aaa", "zzz"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        assert main(["check", "--structure", str(file)]) == 1
        printed = capsys.readouterr().out
        assert printed.startswith(f"{file}:1:8: error: 'relu' is declared already")
        assert "activation.yaml:" in printed.partition("note: 'relu' is declared here")[0]
        file.unlink()


def test_what_nothing_tells_right_from_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "some.yaml"
    entry = '- op: "twice(Tensor self) -> Tensor result"\n  kind: pointwise\n  expr: "self * 2"\n'
    entry += '  summary: "Elements, doubled."\n'
    file.write_text(entry, encoding="utf-8")
    assert main(["check", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "twice has neither a `reference` nor `properties`" in printed
    assert "twice has no `samples` to call it with" in printed
    file.write_text(entry + '  reference: "2 * self"\n  samples: [randn(3)]\n', encoding="utf-8")
    assert main(["check", str(file)]) == 0
    assert "not compared" not in capsys.readouterr().out
