"""What documentation shows without running it: an entry, an error, commands."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from test_guide import PACKAGE, PAGES, ROOT, blocks, of_language

from flambeau._command_line import parser as parser_of_flambeau
from flambeau.codegen.text.folders import yaml_files
from flambeau.codegen.tools import try_
from flambeau.codegen.tools.cli import COMMANDS, main
from flambeau.codegen.tools.cli import parser as parser_of_generator

OWN = {"flambeau", "python", "pytest", "build_tools/lint", ".ci/run"}


def test_the_entry_of_the_readme() -> None:
    """It is the library's own with what the family's head gives it, but for its example."""
    (shown,) = [b for b in blocks(ROOT / "README.md") if b.language == "yaml"]
    (entry,) = yaml.safe_load(shown.text)
    file = re.search(r"declarations/\w+/\w+\.yaml", shown.text)
    assert file is not None
    declared = yaml.safe_load((ROOT / file[0]).read_text(encoding="utf-8"))
    (own,) = [e for e in declared if e.get("op") == entry["op"]]
    own.pop("example")
    assert entry == {**declared[0]["defaults"], **own}


def _texts() -> list[str]:
    page = ROOT / "python/docs/guide/operators.md"
    return [block.text for block in blocks(page) if block.language == "text"]


def test_parts_of_entries() -> None:
    """Entries that the guide shows in part are declared so."""
    shown = [e for text in _texts() if "error:" not in text for e in yaml.safe_load(text)]
    files = yaml_files(ROOT / "declarations")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    assert shown
    for entry in shown:
        (own,) = [
            e
            for e in re.split(r"(?=^- )", text, flags=re.M)
            if e.startswith(f'- op: "{entry["op"]}"')
        ]
        (declared,) = yaml.safe_load(own)
        assert entry == {key: declared[key] for key in entry}


def test_the_mistake_of_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `check` prints of an entry with a wrong factor."""
    (shown,) = [text for text in _texts() if "error:" in text]
    line = shown.splitlines()[-3].strip()
    entries = re.split(r"(?=^- op)", of_language("operators.md", "yaml"), flags=re.MULTILINE)
    (entry,) = [e for e in entries if line.replace("3 *", "2 *") in e]
    file = tmp_path / shown.partition(":")[0]
    file.write_text(entry.replace(line.replace("3 *", "2 *"), line), encoding="utf-8")
    assert main(["check", str(file), "--no-kernels"]) == 1
    printed = capsys.readouterr().out.replace(f"{tmp_path}/", "")
    assert " ".join(shown.split()) in " ".join(printed.split())


def _commands() -> Iterator[tuple[str, str]]:
    """Commands in blocks, in indented lines and in tables: where they stand, what they are."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = [line for b in blocks(page) if b.language == "sh" for line in b.text.splitlines()]
        found += re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
        found += re.findall(r"^\| `([^`]+)` \|", text, re.M)
        for line in found:
            for command in re.split(r"&&|;", line.split("  #")[0].strip()):
                words = shlex.split(command)
                if words and words[0] in OWN:
                    yield page.name, command.strip()


@pytest.mark.parametrize(("page", "command"), sorted(set(_commands())))
def test_commands_are_understood(page: str, command: str) -> None:
    """Programs and options exist; placeholders stand for what they are called."""
    words = shlex.split(re.sub(r"\[(\w+)\]", r"\1", command).replace("KIND", "view"))
    program, *rest = words[2:] if words[:2] == ["python", "-m"] else words
    if program == "flambeau" and rest[:1] == ["ops"]:
        parser_of_generator("flambeau ops").parse_args(rest[1:])
    elif program == "flambeau":
        parser_of_flambeau().parse_args(rest)
    elif program == "flambeau.codegen":
        parser_of_generator(program).parse_args(rest)
    elif program.startswith("build_tools."):
        command_line = [sys.executable, "-m", program, "--help"]
        done = subprocess.run(command_line, cwd=ROOT, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        paths = [w for w in words if "/" in w and not w.startswith("-")]
        assert all((ROOT / path).exists() for path in paths), command


@pytest.mark.parametrize("page", ["operators.md", "command_line.md"])
def test_commands_that_add_an_operator(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that need no compiler run, one after the other, on a copy of the declarations."""
    folder = tmp_path / "declarations"
    shutil.copytree(PACKAGE / "declarations", folder)
    given = [c for name, c in _commands() if name == page and " [" not in c]
    run = [shlex.split(c) for c in given if re.match(r"flambeau ops (new|check|try) [a-z]", c)]
    assert run
    for words in run:
        arguments = [w.replace("declarations/", f"{folder}/") for w in words[2:]]
        assert main([*arguments, "--declarations", str(folder)]) == 0, capsys.readouterr()


def test_calls_in_the_help_of_try(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(r"^  (try .*)$", inspect.getdoc(try_) or "", re.MULTILINE)
    assert len(shown) > 3
    for call in shown:
        assert main(shlex.split(call)) == 0, capsys.readouterr()


def test_the_guide_lists_every_command() -> None:
    listed = {
        shlex.split(c)[2] for name, c in _commands() if name == "command_line.md" and " ops " in c
    }
    assert listed >= {command.NAME for command in COMMANDS}
