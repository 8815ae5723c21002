"""Every example of the guide, the README and CONTRIBUTING runs and prints what it says."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import flambeau

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(flambeau.__file__).parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "python/docs").rglob("*.md")),
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE = re.compile(r"^( *)(`{3,})([^\n]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
# Languages that are no examples: pictures, output, and commands that build or install, which
# continuous integration runs.
_SILENT = {"text", "sh", "", "{toctree}", "{raw} html"}
_ELSEWHERE = {"yaml", "cpp"}  # tested below


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str


_CAPTION = re.compile(r":caption: (.+)\n")


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        language = match[3].strip()
        line = text.count("\n", 0, match.start()) + 1
        yield Block(page, line, language, match[4])


def of_language(page: str, language: str) -> str:
    return "\n".join(blocks_of_language(page, language))


def blocks_of_language(page: str, language: str) -> list[str]:
    found = [b.text for b in blocks(ROOT / "python/docs/guide" / page) if b.language == language]
    assert found
    return found


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run in order; later ones see the names of earlier ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{_programs(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, object] = {"__name__": "__main__"}
    threads = flambeau.get_num_threads()
    flambeau.manual_seed(0)
    try:
        for block in blocks(page):
            _run(block, names)
    finally:
        flambeau.set_num_threads(threads)


def _run(block: Block, names: dict[str, object]) -> None:
    place = f"{block.page.relative_to(ROOT)}:{block.line}"
    if block.language == "python":
        exec(compile("\n" * block.line + block.text, str(block.page), "exec"), names)
    elif block.language == "pycon":
        parser = doctest.DocTestParser()
        test = parser.get_doctest(block.text, names, place, str(block.page), block.line)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
        names.update(test.globs)
        assert test.examples, place
        assert not said, "".join(said)
    elif block.language == "console":
        _run_commands(block, place)
    elif block.language.startswith("{code-block}"):
        _write_file(block)
    else:
        generated = block.language.startswith(("{operator-", "{include}"))
        silent = block.language in _SILENT or generated
        assert silent or block.language in _ELSEWHERE, f"{place}: nobody runs {block.language!r}"


def _programs(folder: Path) -> Path:
    """`python` and `flambeau`, as a shell finds them: of the library that is tested."""
    folder.mkdir()
    for name, arguments in (("python", ""), ("flambeau", "-m flambeau")):
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def _write_file(block: Block) -> None:
    """A block whose caption is the name of a file."""
    caption = _CAPTION.match(block.text)
    assert caption, f"{block.page}:{block.line}: which file is this?"
    path = Path(caption[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text[caption.end() :], encoding="utf-8")


def _run_commands(block: Block, place: str) -> None:
    """`$ command`, over lines that end in a backslash, and what it prints."""
    joined = block.text.replace("\\\n", "")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        environment = {**os.environ, "COLUMNS": "100"}
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, env=environment
        )
        printed = done.stdout + done.stderr
        checker = doctest.OutputChecker()
        assert checker.check_output(expected, printed, FLAGS), f"{place}: {command}\n{printed}"
        assert done.returncode == 0, f"{place}: {command}"


@pytest.fixture
def declarations(tmp_path: Path) -> Path:
    """The library's declarations and the examples; what has a family's head is a file."""
    folder = tmp_path / "declarations"
    shutil.copytree(PACKAGE / "declarations", folder)
    files: dict[str, list[str]] = {}
    for text in blocks_of_language("operators.md", "yaml"):
        head = re.match(r"- family: (\w+)", text)
        files.setdefault(head[1] if head else "guide", []).append(text)
    assert len(files) > 1
    for name, texts in files.items():
        (folder / f"{name}.yaml").write_text("\n".join(texts), encoding="utf-8")
    return folder


def generator(*arguments: object) -> None:
    command = [sys.executable, "-m", "flambeau.codegen", *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr


def test_declarations_pass_the_checks(declarations: Path) -> None:
    for example in ("guide.yaml", "contributing.yaml"):
        file = declarations / example
        generator("check", file, "--declarations", declarations, "--no-kernels")


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_kernel_compiles(declarations: Path, tmp_path: Path) -> None:
    generated = tmp_path / "generated"
    generator("emit", generated, "--declarations", declarations)
    text = of_language("operators.md", "cpp")
    kernel = text.replace("kernels/linalg.h", "kernels/guide.h")
    (tmp_path / "dyad.cpp").write_text(kernel, encoding="utf-8")
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{generated}", f"-I{PACKAGE / 'include'}", str(tmp_path / "dyad.cpp")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
