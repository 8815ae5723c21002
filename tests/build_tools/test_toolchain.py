"""What a build needs and does not find is said in one clear sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools.shared import compiler as compilers  # noqa: E402
from build_tools.shared.compiler import BuildError  # noqa: E402
from build_tools.shared.compiling import write_rules  # noqa: E402
from build_tools.shared.ninja_writer import NinjaWriter  # noqa: E402


def script(folder: Path, name: str, text: str) -> Path:
    """A program on a PATH of its own."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def sentence(error: pytest.ExceptionInfo[BuildError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert text.count(". ") == 0, "more than one sentence"
    return text


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("path")
def test_missing_compiler() -> None:
    with pytest.raises(BuildError) as error:
        compilers.find_compiler("g++")
    assert "needs the C++ compiler g++" in sentence(error)
    assert "apt install g++" in str(error.value)


@pytest.mark.parametrize("version", ["9.4.0", "11", "4.8.5"])
def test_old_compiler(path: Path, version: str) -> None:
    compiler = script(path, "g++", f"echo {version}")
    with pytest.raises(BuildError) as error:
        compilers.find_compiler("g++")
    assert f"{compiler} is g++ {version}" in sentence(error)
    assert "version 12 or newer" in str(error.value)


def test_program_that_is_no_compiler(path: Path) -> None:
    compiler = script(path, "g++", "echo 'what is this?' >&2; exit 1")
    with pytest.raises(BuildError) as error:
        compilers.find_compiler("g++")
    assert str(compiler) in sentence(error)


def compiler_with(folder: Path, version: str, runtime: str) -> Path:
    """A g++ that says where its shared C++ library lies."""
    text = f"""case "$1" in
      -print-file-name=libstdc++.so) echo {runtime};;
      *) echo {version};;
    esac"""
    return script(folder, "g++", text)


@pytest.mark.parametrize("version", ["12", "12.2.0", "15.1.1"])
def test_recent_compiler(path: Path, version: str) -> None:
    compiler = compiler_with(path, version, "/usr/lib/libstdc++.so")
    assert compilers.find_compiler("g++") == str(compiler)
    script(path, "ccache", "")
    assert compilers.find_compiler("g++") == str(compiler)


def test_compiler_without_a_shared_library(path: Path) -> None:
    compiler = compiler_with(path, "13.3.0", "libstdc++.so")
    with pytest.raises(BuildError) as error:
        compilers.find_compiler("g++")
    assert f"{compiler} has no libstdc++.so" in sentence(error)
    assert "set CXX" in str(error.value)


def test_ccache_may_come_later(tmp_path: Path) -> None:
    """It is used from then on, and nothing is compiled again."""
    said = tmp_path / "said"
    last = f'echo g++ >> {said}; for last; do :; done; : > "$last"; : > "$last.d"'
    compiler = script(tmp_path, "g++", last)
    writer = NinjaWriter()
    write_rules(writer, str(compiler), "")
    for name in ("a", "b"):
        (tmp_path / f"{name}.cpp").touch()
        writer.build(f"{name}.o", "compile", [f"{name}.cpp"], variables={"extra": ""})
    writer.write(tmp_path / "build.ninja")
    programs = tmp_path / "programs"
    programs.mkdir()

    def build() -> str:
        command = [compilers.find_ninja(), "-C", str(tmp_path)]
        environment = {"PATH": str(programs)}
        subprocess.run(command, env=environment, capture_output=True, check=True)
        return said.read_text()

    assert build() == "g++\ng++\n"
    script(programs, "ccache", f'echo ccache >> {said}; exec "$@"')
    assert build() == "g++\ng++\n"
    os.utime(tmp_path / "b.cpp", (2**31, 2**31))
    assert build() == "g++\ng++\nccache\ng++\n"


def test_missing_python_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    with pytest.raises(BuildError) as error:
        compilers.find_python_headers()
    assert f"Python.h is not in {tmp_path}" in sentence(error)


def test_the_command_prints_the_sentence(tmp_path: Path) -> None:
    """`python -m build_tools.build` without a compiler: a line, no traceback, status 1."""
    code = (
        "import sys; from build_tools import build, toolchain\n"
        "build.find_toolchain = lambda compiler: toolchain.find_compiler(compiler)\n"
        "sys.argv = ['build']; sys.exit(build.main())"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path), "CXX": "g++-99"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert process.stderr.startswith("flambeau: Flambeau needs the C++ compiler g++-99")
    assert len(process.stderr.splitlines()) == 1
